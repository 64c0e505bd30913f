//! A call of a frozen function: replayed if a recording fits, else recorded.

use std::any::TypeId;
use std::cell::Cell;
use std::panic::Location;
use std::sync::Arc;

use jit_runtime::Error;
use jit_runtime::ir::{Type, scalar};
use jit_runtime::memory::Buffer;
use jit_runtime::recording::{Given, Misfit, Replayed, Scalar, SizeId, SlotId};
use smallvec::SmallVec;

use super::argument::{Arguments, Kept};
use super::explain;
use super::function::{Entry, Fate, Function, Plan, Value};
use super::host;
use super::layout::{self, Form, Input, Layout};
use super::session;
use super::symbols;
use super::verify;
use crate::array::Size;
use crate::schedule;
use crate::trace::misuse;
use crate::trace::node::Var;
use crate::trace::{record, region};
use crate::traverse::{HostValue, Leaf, Traverse, Visitor, VisitorMut};

/// What replays make results from.
struct Templates<T, R> {
    twins: T,
    result: R,
}

/// What a call uses and the next one uses again.
#[derive(Default)]
struct Scratch {
    layout: Layout,
    found: Vec<Arc<Entry>>,
    /// What was tried and does not fit. Nothing is tried twice: it might call the host.
    unfit: Vec<(Arc<Entry>, Misfit)>,
    outputs: SmallVec<[Arc<Buffer>; 4]>,
}

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Replays or records a call; nothing if it is neither, and the caller is to run the body itself: where freezing is off, while another frozen
/// function is recorded or a region is open, while another thread records this one, or where the body cannot be replayed.
#[doc(hidden)]
#[track_caller]
pub fn call<A: Arguments, R: Kept, B: FnOnce(&mut A::Twins) -> R>(
    function: &Function,
    arguments: A,
    body: B,
) -> Option<R> {
    if !function.is_on() || session::is_recording() || region::is_open() || verify::is_running() {
        function.count_direct();
        return None;
    }
    let mut scratch = SCRATCH.take().unwrap_or_default();
    let site = Location::caller();
    // The body's type is another for each instantiation of a generic function, also by what is in none of the arguments.
    let outcome = Call::<'_, A, R> { function, site, of: typeid::of::<B>(), result: Default::default() }.run(
        &mut scratch,
        arguments,
        body,
    );
    scratch.layout.clear();
    scratch.found.clear();
    scratch.unfit.clear();
    scratch.outputs.clear();
    SCRATCH.set(Some(scratch));
    if matches!(outcome, Ok(None)) {
        function.count_direct();
    }
    outcome.unwrap_or_else(|error| misuse::panic_at(error.site().unwrap_or(site), error))
}

struct Call<'f, A, R> {
    function: &'f Function,
    site: &'static Location<'static>,
    of: TypeId,
    result: std::marker::PhantomData<fn(A) -> R>,
}

/// A call that no recording fits.
enum Missed {
    /// Why recordings do not fit that are found by what the call is recognised by.
    Unfit(Vec<(Arc<Entry>, Misfit)>),
    /// The body cannot be replayed.
    Run,
}

impl<A: Arguments, R: Kept> Call<'_, A, R> {
    fn run(
        &self,
        scratch: &mut Scratch,
        arguments: A,
        body: impl FnOnce(&mut A::Twins) -> R,
    ) -> Result<Option<R>, Error> {
        let mut body = Some(body);
        scratch.layout.fill(&arguments, self.function.parameters);
        host::check_arguments(&scratch.layout, self.site);
        self.evaluate(&scratch.layout)?;
        let (arguments, missed) = match self.replay(scratch, arguments, &mut body)? {
            Ok(result) => return Ok(Some(result)),
            Err(missed) => missed,
        };
        let Missed::Unfit(_) = missed else { return Ok(None) };
        let Some(_right) = self.function.try_record() else { return Ok(None) };
        // Another thread may have made the recording meanwhile.
        let (mut arguments, mut misfits) = match self.replay(scratch, arguments, &mut body)? {
            Ok(result) => return Ok(Some(result)),
            Err((_, Missed::Run)) => return Ok(None),
            Err((given, Missed::Unfit(failed))) => (given, failed),
        };
        let (lifted, has_grown) = self.function.lift(self.of, &scratch.layout);
        if has_grown {
            // One that takes these constants as values may be there.
            match self.replay(scratch, arguments, &mut body)? {
                Ok(result) => return Ok(Some(result)),
                Err((_, Missed::Run)) => return Ok(None),
                Err((given, Missed::Unfit(failed))) => (arguments, misfits) = (given, failed),
            }
        }
        let body = body.take().expect("a call that was replayed is done");
        self.record(scratch, arguments, body, lifted, &misfits).map(Some)
    }

    /// Computes the arrays that are expressions still.
    fn evaluate(&self, layout: &Layout) -> Result<(), Error> {
        let missing = layout.inputs.iter().map(|input| &input.var).filter(|var| !var.is_evaluated());
        let missing: SmallVec<[&Var; 8]> = missing.collect();
        if missing.is_empty() {
            return Ok(());
        }
        schedule::evaluate(&missing, "it is an argument of a `#[freeze]` function", self.site)
    }

    /// Replays the first recording that fits.
    fn replay(
        &self,
        scratch: &mut Scratch,
        arguments: A,
        body: &mut Option<impl FnOnce(&mut A::Twins) -> R>,
    ) -> Result<Result<R, (A, Missed)>, Error> {
        let is_verified = self.function.is_verified();
        self.function.find(self.of, &scratch.layout, &mut scratch.found);
        let mut failed = Vec::new();
        for position in 0..scratch.found.len() {
            let entry = Arc::clone(&scratch.found[position]);
            let Fate::Replay(plan) = &entry.fate else {
                self.function.touch(&entry);
                return Ok(Err((arguments, Missed::Run)));
            };
            let Scratch { layout, outputs, unfit, .. } = scratch;
            if let Some((_, misfit)) = unfit.iter().find(|(tried, _)| Arc::ptr_eq(tried, &entry)) {
                failed.push((Arc::clone(&entry), *misfit));
                continue;
            }
            plan.give(layout, &entry.lifted);
            if is_verified {
                layout.yielded.fill(false);
            }
            let given = Given {
                buffers: &layout.buffers,
                scalars: &layout.scalars,
                sizes: &layout.sizes,
                yielded: &layout.yielded,
            };
            outputs.clear();
            let _numbers = plan.recording.calls_host().then(|| host::give_numbers(&layout.numbers));
            let misfit = match plan.recording.replay(given, outputs, &mut layout.replayed_sizes)? {
                Replayed::Unfit(misfit) => misfit,
                Replayed::Done => {
                    self.function.touch(&entry);
                    self.function.count_replay();
                    let body = if is_verified { body.take() } else { None };
                    return self.give_back(&entry, plan, scratch, arguments, body).map(Ok);
                }
            };
            failed.push((Arc::clone(&entry), misfit));
            unfit.push((Arc::clone(&entry), misfit));
        }
        Ok(Err((arguments, Missed::Unfit(failed))))
    }

    /// Makes the results of a replay.
    fn give_back(
        &self,
        entry: &Entry,
        plan: &Plan,
        scratch: &mut Scratch,
        mut arguments: A,
        body: Option<impl FnOnce(&mut A::Twins) -> R>,
    ) -> Result<R, Error> {
        let expected = body.map(|body| verify::run(&arguments, body));
        let templates = entry.templates.downcast_ref::<Templates<A::Twins, R>>();
        let templates = templates.expect("recordings are found by the types of arguments and result");
        let Scratch { layout, outputs, .. } = scratch;
        let Layout { values, inputs, replayed_sizes: sizes, scalars, .. } = layout;
        values.clear();
        let mut made: SmallVec<[Option<Var>; 8]> = SmallVec::from_elem(None, outputs.len());
        values.extend(plan.values.iter().map(|value| match *value {
            Value::Input(number) => inputs[number as usize].var.clone(),
            Value::Output(number, ty, len) => {
                let number = number as usize;
                let make = || record::data_at(self.site, ty, sizes[len.index()], Arc::clone(&outputs[number]));
                made[number].get_or_insert_with(make).clone()
            }
            Value::Known(known, ty, len, is_literal) => {
                known_value(known, ty, sizes[len.index()], is_literal, sizes, scalars)
            }
            Value::Kept(number) => plan.kept[number as usize].clone(),
        }));
        // Arguments hold their arrays alone from now on.
        inputs.clear();
        let mut written = plan.sizes.iter().map(|size| sizes[size.index()]);
        let given_back = templates.result.clone();
        let result = put(&mut arguments, templates, plan.is_alike, values, given_back, &mut |size, _| {
            if let Some(value) = written.next() {
                *size = Size::from(value);
            }
        });
        if let Some(expected) = expected {
            verify::compare(self.function, self.site, (&arguments, &result), &expected)?;
        }
        Ok(result)
    }

    /// Runs the body and remembers what it launches.
    fn record(
        &self,
        scratch: &mut Scratch,
        mut arguments: A,
        body: impl FnOnce(&mut A::Twins) -> R,
        lifted: Vec<bool>,
        misfits: &[(Arc<Entry>, Misfit)],
    ) -> Result<R, Error> {
        let function = self.function;
        let said = layout::describe(&arguments, function.parameters);
        let names = || layout::names_of_sizes(&arguments, function.parameters);
        let why = explain::why(function, (&said, &names), &scratch.layout, misfits.first(), self.site);
        function.begin_recording(said, why).map_err(|text| explain::over_budget(text, self.site))?;
        let layout = &scratch.layout;
        let session = session::begin();
        let mut twins = arguments.twins();
        let given = InputSizes::new(layout, self.site);
        let nodes = inputs(layout, &lifted, &given.widths);
        lend_inputs::<A>(&mut twins, layout, &nodes, &given.lengths);
        let before = host_values::<A>(&twins);
        let mut result = body(&mut twins);
        let is_alike = before == host_values::<A>(&twins);
        let leaves = self.leaves(&twins, &result)?;
        let wanted: Vec<&Var> = leaves.iter().filter(|var| !var.is_evaluated()).collect();
        schedule::evaluate(&wanted, "it is a result of a `#[freeze]` function", self.site)?;
        let mut outputs = Outputs { nodes: &nodes, layout, slots: Vec::new(), kept: Vec::new(), site: self.site };
        let values = leaves.iter().map(|leaf| outputs.value(leaf)).collect::<Result<Vec<Value>, Error>>()?;
        let Outputs { slots, mut kept, .. } = outputs;
        let sizes = sizes::<A>(&mut twins, &mut result);
        let may_yield = (0..layout.inputs.len()).map(|input| {
            !values.iter().any(|value| matches!(value, Value::Input(number) if *number as usize == input))
        });
        let may_yield: Vec<bool> = may_yield.collect();
        session::check()?;
        let decided = session::decided();
        let finished = session.finish(slots);
        // Each leaf is what the caller gets: an array of the arguments where it is one.
        let current = leaves.iter().zip(&values).map(|(leaf, value)| match value {
            Value::Input(number) => layout.inputs[*number as usize].var.clone(),
            _ => leaf.clone(),
        });
        let mut current: Vec<Var> = current.collect();
        drop((leaves, nodes));
        host::part(&mut kept);
        host::part(&mut current);
        let given_back = result.clone();
        strip::<A>(&mut twins);
        strip_tree(&mut result);
        let templates = Templates { twins, result };
        let fate = match finished {
            Ok(recording) => Fate::Replay(Box::new(Plan { recording, values, sizes, is_alike, may_yield, kept })),
            Err(reason) => Fate::Run(reason),
        };
        // What the body left in the arguments is put there for replays, too: from a plan that nobody replays, if need be.
        let result = put(&mut arguments, &templates, is_alike, &mut current, given_back, &mut |size, _| {
            *size = Size::from(size.value());
        });
        function.insert(self.of, layout, lifted, &decided, fate, Box::new(templates));
        Ok(result)
    }

    /// The arrays of the arguments that the body may have changed, and those of the result.
    fn leaves(&self, twins: &A::Twins, result: &R) -> Result<Vec<Var>, Error> {
        let mut leaves = Vec::new();
        A::show_twins(twins, &mut |is_exclusive, show| {
            show(&mut Visitor::new(&mut |_, leaf| {
                if let (true, Leaf::Array(var)) = (is_exclusive, leaf) {
                    leaves.push(var.clone());
                }
            }));
        });
        let mut shared = None;
        result.traverse(&mut Visitor::with_paths(&mut |path, leaf| match leaf {
            Leaf::Array(var) => leaves.push(var.clone()),
            Leaf::Shared(_) => shared = Some(path.to_owned()),
            Leaf::Host(_) => {}
        }));
        match shared {
            Some(path) => Err(explain::shared_result(&path, self.site)),
            None => Ok(leaves),
        }
    }
}

/// The sizes that the recording computes others from.
struct InputSizes {
    /// The number of elements of each input.
    widths: Vec<Size>,
    /// The lengths of the axes of all arguments that have axes.
    lengths: Vec<Size>,
}

impl InputSizes {
    fn new(layout: &Layout, site: &'static Location<'static>) -> InputSizes {
        let own: Vec<Size> = layout.inputs.iter().map(|input| symbols::input(input.var.lanes())).collect();
        let lengths: Vec<Size> = layout.lengths.iter().map(|&length| symbols::input(length)).collect();
        let lengths: Vec<Size> = lengths.into_iter().map(|length| symbols::settled_at(length, site)).collect();
        let width = |(input, own): (&Input, Size)| match input.lengths {
            None => own,
            Some((begin, end)) => symbols::product(&lengths[begin as usize..end as usize]),
        };
        let widths = layout.inputs.iter().zip(own).map(width).map(|width| symbols::settled_at(width, site)).collect();
        InputSizes { widths, lengths }
    }
}

/// Makes the inputs of the recording; gives the nodes that stand for them.
fn inputs(layout: &Layout, lifted: &[bool], widths: &[Size]) -> Vec<Var> {
    let mut literal = 0;
    let mut nodes = Vec::with_capacity(layout.inputs.len());
    for (input, &width) in layout.inputs.iter().zip(widths) {
        let var = &input.var;
        nodes.push(match (input.form, var.known_bits(), var.data()) {
            (Form::Literal, Some(bits), _) => {
                let is_lifted = lifted[literal];
                literal += 1;
                match is_lifted {
                    true => session::scalar_input(var, width, bits),
                    false => session::constant_input(var, width, bits),
                }
            }
            (_, Some(bits), _) => session::scalar_input(var, width, bits),
            (_, None, Some(buffer)) => session::input(var, width, &buffer),
            (_, None, None) => unreachable!("arguments were evaluated"),
        });
        if let (true, Some(node)) = (input.is_shared, nodes.last()) {
            session::share(var, node);
        }
    }
    nodes
}

/// Puts the inputs of the recording into the twins, and the lengths of their axes.
fn lend_inputs<A: Arguments>(twins: &mut A::Twins, layout: &Layout, nodes: &[Var], lengths: &[Size]) {
    let (mut order, mut lengths) = (layout.order.iter(), lengths.iter());
    let mut lend = |_: &str, var: &mut Var| {
        if let Some(position) = order.next() {
            *var = nodes[*position as usize].clone();
        }
    };
    let mut lend_size = |size: &mut Size, is_length: bool| {
        if is_length && let Some(length) = lengths.next() {
            *size = *length;
        }
    };
    A::lend_twins(twins, &mut VisitorMut::with_sizes(&mut lend, &mut lend_size));
}

/// What the host knows of the arguments that the body may change. Lengths of axes are compared as numbers, which decides nothing: they are put
/// where they belong in any case.
fn host_values<A: Arguments>(twins: &A::Twins) -> Vec<HostValue> {
    let mut values = Vec::new();
    A::show_twins(twins, &mut |is_exclusive, show| {
        show(&mut Visitor::new(&mut |_, leaf| match leaf {
            Leaf::Host(HostValue::Lengths(lengths)) if is_exclusive => {
                values.push(HostValue::Shape(lengths.len()));
                values.extend(lengths.iter().map(|length| HostValue::Shape(length.value())));
            }
            Leaf::Host(value) if is_exclusive => values.push(value),
            _ => {}
        }));
    });
    values
}

/// What is found out about the arrays that are given back.
struct Outputs<'a> {
    nodes: &'a [Var],
    layout: &'a Layout,
    slots: Vec<SlotId>,
    kept: Vec<Var>,
    site: &'static Location<'static>,
}

impl Outputs<'_> {
    /// What an array is in each replay.
    fn value(&mut self, leaf: &Var) -> Result<Value, Error> {
        let originals = self.layout.inputs.iter().map(|input| &input.var);
        let is_it = |(node, original): (&Var, &Var)| node.is_same(leaf) || original.is_same(leaf);
        if let Some(input) = self.nodes.iter().zip(originals).position(is_it) {
            return Ok(Value::Input(input as u32));
        }
        session::check_result(leaf, self.site)?;
        let (ty, len) = (leaf.ty(), symbols::id_of_extent(leaf.extent()));
        if let Some(bits) = leaf.known_bits() {
            let known = session::scalar_of(leaf).unwrap_or(Scalar::Constant(bits));
            return Ok(Value::Known(known, ty, len, leaf.literal().is_some()));
        }
        let slot = leaf.data().and_then(|buffer| session::slot(&buffer));
        let Some(slot) = slot else { return Err(session::hidden_result(leaf, self.site)) };
        if session::is_constant(slot) {
            self.kept.push(leaf.clone());
            return Ok(Value::Kept(self.kept.len() as u32 - 1));
        }
        let known = self.slots.iter().position(|&known| known == slot);
        let number = known.unwrap_or_else(|| {
            self.slots.push(slot);
            self.slots.len() - 1
        });
        Ok(Value::Output(number as u32, ty, len))
    }
}

/// A value that the host knows when a replay is done.
fn known_value(known: Scalar, ty: Type, width: usize, is_literal: bool, sizes: &[usize], scalars: &[u64]) -> Var {
    let bits = match known {
        Scalar::Constant(bits) => bits,
        Scalar::Input(number) => scalars[number as usize],
        Scalar::Size(size, of) => scalar::cast(Type::U64, of, sizes[SizeId::index(size)] as u64),
    };
    if is_literal { record::literal(ty, bits, width) } else { record::opaque(ty, bits, width) }
}

/// What the sizes are in the arguments that the body may have changed, and in the result.
fn sizes<A: Arguments>(twins: &mut A::Twins, result: &mut impl Traverse) -> Vec<SizeId> {
    let mut sizes = Vec::new();
    let (mut arrays, mut size) = (|_: &str, _: &mut Var| {}, |size: &mut Size, _| sizes.push(symbols::id_of(*size)));
    let mut visitor = VisitorMut::with_sizes(&mut arrays, &mut size);
    A::lend_changed(twins, &mut visitor);
    result.traverse_mut(&mut visitor);
    sizes
}

/// Puts arrays and sizes where they belong: into the arguments that the body may change, and into the result.
fn put<A: Arguments, R: Kept>(
    arguments: &mut A,
    templates: &Templates<A::Twins, R>,
    is_alike: bool,
    values: &mut Vec<Var>,
    mut result: R,
    size: &mut dyn FnMut(&mut Size, bool),
) -> R {
    let mut all = values.drain(..);
    let mut next = |_: &str, var: &mut Var| {
        if let Some(value) = all.next() {
            *var = value;
        }
    };
    let mut visitor = VisitorMut::with_sizes(&mut next, size);
    arguments.put(&templates.twins, is_alike, &mut visitor);
    result.traverse_mut(&mut visitor);
    debug_assert!(all.next().is_none(), "there is a place for each array");
    result
}

/// Takes the arrays out of the templates, so that they hold no memory.
fn strip<A: Arguments>(twins: &mut A::Twins) {
    A::lend_twins(twins, &mut VisitorMut::new(&mut |_, var| *var = nothing(var)));
}

fn strip_tree(tree: &mut impl Traverse) {
    tree.traverse_mut(&mut VisitorMut::new(&mut |_, var| *var = nothing(var)));
}

/// As wide as before: trees may look at widths, as tensors do.
fn nothing(var: &Var) -> Var {
    record::literal(var.ty(), 0, var.lanes())
}
