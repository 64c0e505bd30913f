//! Recording a call of a frozen function: the body runs on proxies of the arguments, and its launches are recorded.

use std::any::type_name;
use std::sync::Arc;

use jit_runtime::recording::{GuardFailure, Relation, Scalar, SizeId, SlotId};
use jit_runtime::{Error, Site};

use super::argument::{Arguments, Recordable};
use super::call::{Call, Scratch, Templates, put};
use super::flows::{self, Flows};
use super::function::{CallPlan, Entry, Plan, Value};
use super::layout::{self, Form, Gradients, Input, Layout};
use super::mismatch::{cannot_be_traced, describe};
use super::saved::erased;
use super::shared::{self, SharedLeaf};
use super::{explain, host};
use crate::capture::launches::{self, Purpose};
use crate::graph::gradients::{self, Scope};
use crate::graph::node::Var;
use crate::schedule;
use crate::size::{Size, table};
use crate::trace::record;
use crate::traverse::{HostValue, Leaf, Traverse, Visitor, VisitorMut, check_number};

/// The effects of a body on proxies.
struct Ran<T, R> {
    proxies: T,
    result: R,
    /// The nodes that represented the inputs.
    nodes: Vec<Var>,
    /// Those before some of them became variables.
    values: Vec<Var>,
    /// Whether the host values in the arguments are unchanged.
    is_unchanged: bool,
    /// The shared leaves of the arguments.
    shared: Vec<SharedLeaf>,
}

/// A recorded body.
pub(super) struct Traced<T, R> {
    pub(super) templates: Templates<T, R>,
    /// A plan for replays, or why there is none.
    pub(super) plan: Result<Plan, String>,
    is_unchanged: bool,
    /// The arrays that the caller of the recorded call receives, and the result that they are put into.
    current: Vec<Var>,
    given_back: R,
    /// For each input, the first one whose width is taken to be the same.
    pub(super) widths: Vec<u32>,
    /// The plain numbers that decisions depended on.
    pub(super) decided: Vec<bool>,
    flows: Option<Arc<Flows>>,
}

impl<A: Arguments, R: Recordable> Call<'_, A, R> {
    /// Runs the body and records its launches.
    pub(super) fn record(
        &self,
        scratch: &mut Scratch,
        mut arguments: A,
        body: impl FnOnce(&mut A::Proxies) -> R,
        lifted: Vec<bool>,
        guard_failures: &[(Arc<Entry>, GuardFailure)],
    ) -> Result<R, Error> {
        self.announce(&arguments, &scratch.layout, guard_failures.first())?;
        let traced = self.trace(scratch, &arguments, body, &lifted, self.function.purpose())?;
        if let (true, Err(reason)) = (self.function.is_module(), &traced.plan) {
            return Err(cannot_be_traced(self.function.name, reason, self.site));
        }
        let Traced { templates, plan, is_unchanged, mut current, given_back, widths, decided, flows } = traced;
        if let Some(flows) = &flows {
            self.connect(flows, &scratch.layout, &arguments, &mut current)?;
        }
        let summary = describe(&arguments, self.function.parameters);
        // The arguments are filled from the templates as in a replay, even if the plan is never replayed.
        let result = put(
            &mut arguments,
            &templates.proxies,
            is_unchanged,
            &mut current,
            given_back,
            self.site,
            &mut |size, _| {
                *size = Size::from(size.value());
            },
        );
        let call_plan = plan.map_or_else(CallPlan::Run, |plan| CallPlan::Replay(Box::new(plan)));
        self.function.insert(
            self.of,
            &scratch.layout,
            (lifted, widths),
            &decided,
            call_plan,
            (erased(templates), summary),
        );
        Ok(result)
    }

    /// Runs the body on proxies of the arguments, and makes a plan for replays of its launches.
    pub(super) fn trace(
        &self,
        scratch: &Scratch,
        arguments: &A,
        body: impl FnOnce(&mut A::Proxies) -> R,
        lifted: &[bool],
        purpose: Purpose,
    ) -> Result<Traced<A::Proxies, R>, Error> {
        let layout = &scratch.layout;
        let session = launches::begin(purpose, self.site);
        let widths = layout.equal_widths(&scratch.found);
        let Ran { mut proxies, mut result, nodes, values: plain, is_unchanged, shared } =
            self.run_body(arguments, layout, (lifted, &widths), body)?;
        let mut leaves = self.leaves(&proxies, &result)?;
        let flows = Flows::close(layout, &nodes, &mut leaves).map(Arc::new);
        let (slots, kept) = (Vec::new(), Vec::new());
        let mut outputs = Outputs { nodes: &nodes, plain: &plain, layout, slots, kept, site: self.site };
        let values = outputs.values(&leaves)?;
        let Outputs { slots, mut kept, .. } = outputs;
        let (sizes, are_lengths) = sizes::<A>(&mut proxies, &mut result);
        launches::check()?;
        let decided = launches::decided();
        let finished = session.finish(slots);
        let mut current = current(&leaves, &values, layout);
        drop((leaves, nodes, plain));
        host::part(&mut kept);
        host::part(&mut current);
        let given_back = result.clone();
        strip::<A>(&mut proxies);
        strip_tree(&mut result);
        let templates = Templates { proxies, result };
        let may_donate = may_donate(&values, layout);
        let of_plan = flows.clone();
        let plan = finished.map(|recording| Plan {
            recording,
            values,
            sizes,
            are_lengths: Some(are_lengths),
            is_unchanged,
            shared,
            may_donate,
            kept,
            flows: of_plan,
            is_loaded: false,
        });
        Ok(Traced { templates, plan, is_unchanged, current, given_back, widths, decided, flows })
    }

    /// Notes that the function is recorded, and why. Fails if the number of recordings exceeds the budget.
    pub(super) fn announce(
        &self,
        arguments: &A,
        layout: &Layout,
        guard_failure: Option<&(Arc<Entry>, GuardFailure)>,
    ) -> Result<(), Error> {
        let function = self.function;
        let summary = layout::describe(arguments, function.parameters, function.is_module());
        let names = || layout::names_of_sizes(arguments, function.parameters, function.is_module(), Gradients::Flow);
        let why = explain::why((function, self.of), (&summary, &names), layout, guard_failure, self.site);
        function.begin_recording(summary, why).map_err(|text| explain::over_budget(text, self.site))
    }

    /// Runs the body on proxies of the arguments, whose arrays are the inputs of the recording.
    fn run_body(
        &self,
        arguments: &A,
        layout: &Layout,
        (lifted, equal_widths): (&[bool], &[u32]),
        body: impl FnOnce(&mut A::Proxies) -> R,
    ) -> Result<Ran<A::Proxies, R>, Error> {
        let mut proxies = arguments.proxies();
        let given = InputSizes::new(layout, equal_widths, self.site);
        let values = inputs(layout, lifted, &given.widths, self.site)?;
        let mut nodes = values.clone();
        if self.again.is_some() {
            flows::open(layout, &mut nodes, self.site);
        }
        // The values that the caller has chosen for gradients are others.
        let _scope = Scope::begin(gradients::is_suspended());
        lend_inputs::<A>(&mut proxies, layout, &nodes, &given.lengths, self.site);
        let (before, mut shared) = (host_values::<A>(&proxies), shared::in_proxies::<A>(&proxies));
        let result = body(&mut proxies);
        if let Some(place) = shared::changed(&shared, &shared::in_proxies::<A>(&proxies), self.function.parameters) {
            return Err(explain::shared_changed(self.function.purpose().noun(), &place, self.site));
        }
        let is_unchanged = before == host_values::<A>(&proxies);
        if is_unchanged {
            shared.clear();
        } else if shared::are_fields_skipped::<A>(&proxies) {
            launches::give_up(|| "fields that `Traverse` skips would become those of this call".to_owned());
        }
        Ok(Ran { proxies, result, nodes, values, is_unchanged, shared })
    }

    /// Returns the arrays of the arguments that the body may have changed, and those of the result.
    fn leaves(&self, proxies: &A::Proxies, result: &R) -> Result<Vec<Var>, Error> {
        let mut leaves = Vec::new();
        A::show_proxies(proxies, &mut |is_exclusive, show| {
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
            Some(path) => Err(explain::shared_result(self.function.purpose().noun(), &path, self.site)),
            None => Ok(leaves),
        }
    }
}

/// The sizes from which the recording computes others.
struct InputSizes {
    /// The number of elements of each input.
    widths: Vec<Size>,
    /// The lengths of the axes of all arguments that have axes.
    lengths: Vec<Size>,
}

impl InputSizes {
    fn new(layout: &Layout, equal_widths: &[u32], site: Site) -> InputSizes {
        let mut own: Vec<Size> = layout.inputs.iter().map(|input| table::input(input.var.lanes())).collect();
        for (position, &first) in equal_widths.iter().enumerate() {
            // No guard, if it is the first one itself.
            table::require_at(site, Relation::Eq, own[position], own[first as usize]);
            own[position] = own[first as usize];
        }
        let lengths: Vec<Size> = layout.lengths.iter().map(|&length| table::input(length)).collect();
        let lengths: Vec<Size> = lengths.into_iter().map(|length| table::settled_at(length, site)).collect();
        let width = |(input, own): (&Input, Size)| match input.lengths {
            None => own,
            Some((begin, end)) => table::product(&lengths[begin as usize..end as usize]),
        };
        let widths = layout.inputs.iter().zip(own).map(width).map(|width| table::settled_at(width, site)).collect();
        InputSizes { widths, lengths }
    }
}

/// Makes the inputs of the recording; returns the nodes that represent them.
fn inputs(layout: &Layout, lifted: &[bool], widths: &[Size], site: Site) -> Result<Vec<Var>, Error> {
    let mut literal = 0;
    let mut nodes = Vec::with_capacity(layout.inputs.len());
    for (input, &width) in layout.inputs.iter().zip(widths) {
        let var = &input.var;
        let unwritten = if input.is_shared || input.form != Form::Memory { None } else { launches::unwritten()? };
        nodes.push(match (input.form, var.known_bits(), unwritten.or_else(|| var.data())) {
            (Form::Memory, _, Some(buffer)) => launches::input(var, width, &buffer),
            (Form::Literal, Some(bits), _) => {
                let is_lifted = lifted[literal];
                literal += 1;
                match is_lifted {
                    true => launches::scalar_input(var, width, bits),
                    false => launches::constant_input(var, width, bits),
                }
            }
            (_, Some(bits), _) => launches::scalar_input(var, width, bits),
            (_, None, Some(buffer)) => launches::input(var, width, &buffer),
            (_, None, None) => return Err(explain::shared_unevaluated(site)),
        });
        if let (true, Some(node)) = (input.is_shared, nodes.last()) {
            launches::share(var, node, input.lengths.is_some(), site);
        }
    }
    Ok(nodes)
}

/// Puts the inputs of the recording into the proxies, with the lengths of their axes.
fn lend_inputs<A: Arguments>(proxies: &mut A::Proxies, layout: &Layout, nodes: &[Var], lengths: &[Size], site: Site) {
    let (mut order, mut lengths, mut lent) = (layout.order.iter(), lengths.iter(), 0);
    let mut lend = |_: &str, var: &mut Var| {
        lent += 1;
        if let Some(position) = order.next() {
            *var = nodes[*position as usize].clone();
        }
    };
    let mut lend_size = |size: &mut Size, is_length: bool| {
        if is_length && let Some(length) = lengths.next() {
            *size = *length;
        }
    };
    A::lend_proxies(proxies, &mut VisitorMut::with_sizes(&mut lend, &mut lend_size));
    check_number(type_name::<A::Proxies>(), layout.order.len(), lent, site);
}

/// Returns the host values in the arguments that the body may change. Lengths of axes are compared as numbers, which
/// adds no guard: they are stored in the arguments in any case.
fn host_values<A: Arguments>(proxies: &A::Proxies) -> Vec<HostValue> {
    let mut values = Vec::new();
    A::show_proxies(proxies, &mut |is_exclusive, show| {
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

/// Classifies the arrays that are returned.
struct Outputs<'a> {
    nodes: &'a [Var],
    /// The inputs without gradients.
    plain: &'a [Var],
    layout: &'a Layout,
    slots: Vec<SlotId>,
    kept: Vec<Var>,
    site: Site,
}

impl Outputs<'_> {
    /// Evaluates arrays; returns how each replay obtains them.
    fn values(&mut self, leaves: &[Var]) -> Result<Vec<Value>, Error> {
        let wanted: Vec<&Var> = leaves.iter().filter(|var| !var.is_evaluated()).collect();
        schedule::evaluate(&wanted, "it is a result of a `#[freeze]` function", self.site)?;
        leaves.iter().map(|leaf| self.value(leaf)).collect()
    }

    /// Returns how each replay obtains an array.
    fn value(&mut self, leaf: &Var) -> Result<Value, Error> {
        // A shared leaf is used in place; any other array of the caller is foreign.
        let is_it = |(node, input): (&Var, &Input)| node.is_same(leaf) || (input.is_shared && input.var.is_same(leaf));
        if let Some(input) = self.nodes.iter().zip(&self.layout.inputs).position(is_it) {
            return Ok(Value::Input(input as u32));
        }
        if let Some(input) = self.plain.iter().position(|node| node.is_same(leaf)) {
            return Ok(Value::Detached(input as u32));
        }
        launches::check_result(leaf, self.site)?;
        let (ty, len) = (leaf.ty(), table::id_of_extent(leaf.extent()));
        if let Some(bits) = leaf.known_bits() {
            let known = launches::scalar_of(leaf).unwrap_or(Scalar::Constant(bits));
            return Ok(Value::Known(known, ty, len, leaf.literal().is_some()));
        }
        let slot = leaf.data().and_then(|buffer| launches::slot(&buffer));
        let Some(slot) = slot else { return Err(launches::hidden_result(leaf, self.site)) };
        if launches::is_constant(slot) {
            self.kept.push(leaf.clone());
            return Ok(Value::Retained(self.kept.len() as u32 - 1));
        }
        let known = self.slots.iter().position(|&known| known == slot);
        let number = known.unwrap_or_else(|| {
            self.slots.push(slot);
            self.slots.len() - 1
        });
        Ok(Value::Output(number as u32, ty, len))
    }
}

/// Returns the arrays that the caller of the recorded call receives: an array of the arguments where a leaf is one.
fn current(leaves: &[Var], values: &[Value], layout: &Layout) -> Vec<Var> {
    let current = leaves.iter().zip(values).map(|(leaf, value)| match value {
        Value::Input(number) => layout.inputs[*number as usize].var.clone(),
        Value::Detached(number) => record::detached(&layout.inputs[*number as usize].var),
        _ => leaf.clone(),
    });
    current.collect()
}

/// For each input, returns whether it is not among the returned arrays, so that replays may overwrite it if it has no
/// other owner.
fn may_donate(values: &[Value], layout: &Layout) -> Vec<bool> {
    let is_input = |input: usize| {
        let is_it = |value: &Value| matches!(value, Value::Input(of) | Value::Detached(of) if *of as usize == input);
        values.iter().any(is_it)
    };
    (0..layout.inputs.len()).map(|input| !is_input(input)).collect()
}

/// Returns the sizes in the arguments that the body may have changed, and in the result; and which of them are lengths
/// of axes.
fn sizes<A: Arguments>(proxies: &mut A::Proxies, result: &mut impl Traverse) -> (Vec<SizeId>, Vec<bool>) {
    let (mut sizes, mut are_lengths) = (Vec::new(), Vec::new());
    let (mut arrays, mut size) = (
        |_: &str, _: &mut Var| {},
        |size: &mut Size, is_length| {
            sizes.push(table::id_of(*size));
            are_lengths.push(is_length);
        },
    );
    let mut visitor = VisitorMut::with_sizes(&mut arrays, &mut size);
    A::lend_changed(proxies, &mut visitor);
    result.traverse_mut(&mut visitor);
    (sizes, are_lengths)
}

/// Removes the arrays from the templates, so that they hold no memory.
pub(super) fn strip<A: Arguments>(proxies: &mut A::Proxies) {
    A::lend_proxies(proxies, &mut VisitorMut::new(&mut |_, var| *var = nothing(var)));
}

fn strip_tree(tree: &mut impl Traverse) {
    tree.traverse_mut(&mut VisitorMut::new(&mut |_, var| *var = nothing(var)));
}

/// Returns an empty array of the same width: values may read widths, as tensors do.
fn nothing(var: &Var) -> Var {
    record::literal(var.ty(), 0, var.lanes())
}
