//! A call of a frozen function: it replays a matching recording, or makes a new one (`record`).

use std::any::{TypeId, type_name};
use std::cell::Cell;
use std::sync::Arc;

use jit_runtime::cancel;
use jit_runtime::ir::{Type, scalar};
use jit_runtime::memory::Buffer;
use jit_runtime::recording::{GuardFailure, ReplayInputs, Replayed, Scalar, SizeId};
use jit_runtime::stats::events::{self, Activity};
use jit_runtime::{Error, Site};
use smallvec::SmallVec;

use super::again;
use super::argument::{Arguments, Recordable};
use super::derivative::Derivative;
use super::flows::Flows;
use super::function::{CallPlan, Entry, Function, Plan, Value};
use super::layout::{Form, Layout};
use super::saved::LoadedTemplates;
use super::saved_types::Instance;
use super::{host, shared, verify};
use crate::capture::{self, host_call, launches};
use crate::graph::node::Var;
use crate::misuse;
use crate::schedule::{self, native};
use crate::size::Size;
use crate::thread_state::thread_state;
use crate::trace::{local, record, region};
use crate::traverse::{Traverse, VisitorMut, arrays, check_number};

/// The values from which replays make results.
pub(super) struct Templates<T, R> {
    pub(super) proxies: T,
    pub(super) result: R,
}

/// Buffers that a call uses and the next one reuses.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) layout: Layout,
    pub(super) found: Vec<Arc<Entry>>,
    /// Recordings that were tried and do not fit. None is tried twice, because a trial may call the host.
    rejected: Vec<(Arc<Entry>, GuardFailure)>,
    outputs: SmallVec<[Arc<Buffer>; 4]>,
}

thread_state! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = Cell::new(None);
}

/// Replays or records a call. Returns `None` if neither is possible and the caller must run the body itself: if
/// freezing is off, while another frozen function is recorded or a region is open, while another thread records this
/// one, or if the body cannot be replayed.
#[doc(hidden)]
#[track_caller]
pub fn call<A: Arguments, R: Recordable, B: FnOnce(&mut A::Proxies) -> R + Copy>(
    function: &Function,
    arguments: A,
    body: B,
) -> Option<R> {
    let site = Site::here();
    // Each instantiation of a generic function has its own body type, even if no argument depends on the type
    // parameter.
    let (of, again) = (typeid::of::<B>(), again::function_of(&body));
    let outcome = call_of(function, of, arguments, (body, again), site);
    outcome.unwrap_or_else(|error| misuse::panic_at(error.site().unwrap_or(site), error))
}

/// Replays or records a call as [`call`] does, of a function whose instantiations can be named.
#[doc(hidden)]
#[track_caller]
pub fn call_instance<A: Arguments, R: Recordable, B: FnOnce(&mut A::Proxies) -> R + Copy>(
    function: &Function,
    instance: Instance,
    arguments: A,
    body: B,
) -> Option<R> {
    let (site, again) = (Site::here(), again::function_of(&body));
    let outcome = call_of(function, instance.of, arguments, (body, again), site);
    outcome.unwrap_or_else(|error| misuse::panic_at(error.site().unwrap_or(site), error))
}

/// Replays or records a call of an instantiation of a function. The body is given twice: for this call, and as a
/// function that can run again on copies of the arguments, if it is one.
#[track_caller]
pub(super) fn call_of<A: Arguments, R: Recordable>(
    function: &Function,
    of: TypeId,
    arguments: A,
    (body, again): (impl FnOnce(&mut A::Proxies) -> R, Option<again::Body<A::Proxies, R>>),
    site: Site,
) -> Result<Option<R>, Error> {
    let is_direct = !function.is_on() || launches::is_recording() || region::is_open() || capture::is_comparing();
    // Checks see into functions whose bodies run.
    if is_direct || schedule::inspect::is_on() {
        function.count_direct();
        return Ok(None);
    }
    let _policy = function.enter_policy();
    let again = again.filter(|_| A::ARE_COPIES_COMPLETE);
    let call = Call::<'_, A, R>::new(function, site, of, again);
    let outcome = with_scratch(|scratch| call.run(scratch, arguments, body));
    if matches!(outcome, Ok(None)) {
        function.count_direct();
    }
    outcome
}

/// Runs a call with the buffers of an earlier one.
pub(super) fn with_scratch<R>(run: impl FnOnce(&mut Scratch) -> R) -> R {
    let mut scratch = SCRATCH.take().unwrap_or_default();
    let outcome = run(&mut scratch);
    scratch.layout.clear();
    scratch.found.clear();
    scratch.rejected.clear();
    scratch.outputs.clear();
    SCRATCH.set(Some(scratch));
    outcome
}

/// Ends a call whose body ran directly on the caller's arguments. Evaluates the arguments that the body may have
/// changed and the result, as a replayed call does. So a loop of calls launches its work whether freezing is on or off,
/// and `sync` waits for it.
#[doc(hidden)]
#[track_caller]
pub fn after_direct(collect: impl FnOnce(&mut Vec<Var>)) {
    // Inside another frozen function, or a traced region, the call is part of that recording.
    if launches::is_recording() || region::is_open() || capture::is_comparing() || host_call::is_inside() {
        return;
    }
    let site = Site::here().of_program();
    let mut vars = Vec::new();
    collect(&mut vars);
    let missing: Vec<&Var> = vars.iter().filter(|var| !var.is_evaluated() && !local::is_local(var)).collect();
    if missing.is_empty() {
        return;
    }
    if let Err(error) = schedule::evaluate(&missing, "it is a result of a `#[freeze]` function", site) {
        misuse::panic_at(error.site().unwrap_or(site), error);
    }
}

/// A value whose arrays are evaluated after a call that runs directly. A value that cannot be traversed is rejected
/// elsewhere, once: here method lookup finds [`CollectNothing`] for it.
#[doc(hidden)]
pub struct Changed<'a, T: ?Sized>(pub &'a T);

#[doc(hidden)]
pub trait CollectArrays {
    /// Adds the arrays of the value.
    fn collect(&self, vars: &mut Vec<Var>);
}

impl<T: Traverse + ?Sized> CollectArrays for Changed<'_, T> {
    fn collect(&self, vars: &mut Vec<Var>) {
        vars.extend(arrays(self.0));
    }
}

#[doc(hidden)]
pub trait CollectNothing {
    /// Adds nothing.
    fn collect(&self, _: &mut Vec<Var>) {}
}

impl<T: ?Sized> CollectNothing for &Changed<'_, T> {}

pub(super) struct Call<'f, A: Arguments, R> {
    pub(super) function: &'f Function,
    pub(super) site: Site,
    pub(super) of: TypeId,
    /// The body, if it can run again.
    pub(super) again: Option<again::Body<A::Proxies, R>>,
}

/// A call that no recording fits.
enum Missed {
    /// Recordings were found by the key, but do not fit, with the reasons.
    Rejected(Vec<(Arc<Entry>, GuardFailure)>),
    /// The body cannot be replayed.
    Run,
}

impl<'f, A: Arguments, R> Call<'f, A, R> {
    pub(super) fn new(
        function: &'f Function,
        site: Site,
        of: TypeId,
        again: Option<again::Body<A::Proxies, R>>,
    ) -> Self {
        Call { function, site, of, again }
    }
}

impl<A: Arguments, R: Recordable> Call<'_, A, R> {
    fn run(
        &self,
        scratch: &mut Scratch,
        arguments: A,
        body: impl FnOnce(&mut A::Proxies) -> R,
    ) -> Result<Option<R>, Error> {
        let _operation = cancel::begin();
        let mut body = Some(body);
        self.function.adopt_loaded::<R>(self.of);
        self.function.fill(&mut scratch.layout, &arguments);
        if scratch.layout.carries() && (self.again.is_none() || scratch.layout.carries_to_shared()) {
            return Ok(None);
        }
        // A recording runs on one device.
        if scratch.layout.devices.are_several() {
            return Ok(None);
        }
        let _scope = scratch.layout.devices.enter();
        host::check_arguments(&scratch.layout, self.site);
        self.evaluate(&mut scratch.layout)?;
        let (arguments, missed) = match self.replay(scratch, arguments, &mut body)? {
            Ok(result) => return Ok(Some(result)),
            Err(missed) => missed,
        };
        let Missed::Rejected(_) = missed else { return Ok(None) };
        let Some(_right) = self.function.try_record() else { return Ok(None) };
        let _line = self.site.enter(None);
        // Another thread may have made the recording in the meantime.
        let (mut arguments, mut guard_failures) = match self.replay(scratch, arguments, &mut body)? {
            Ok(result) => return Ok(Some(result)),
            Err((_, Missed::Run)) => return Ok(None),
            Err((given, Missed::Rejected(failed))) => (given, failed),
        };
        let (lifted, has_grown) = self.function.lift(self.of, &scratch.layout);
        if has_grown {
            // There may already be a recording that takes these constants as inputs.
            match self.replay(scratch, arguments, &mut body)? {
                Ok(result) => return Ok(Some(result)),
                Err((_, Missed::Run)) => return Ok(None),
                Err((given, Missed::Rejected(failed))) => (arguments, guard_failures) = (given, failed),
            }
        }
        let body = body.take().expect("a call that was replayed is done");
        let span = events::begin();
        let result = self.record(scratch, arguments, body, lifted, &guard_failures);
        span.end(Some(self.site), || Activity::Recording(self.function.last_recording()));
        result.map(Some)
    }

    /// Evaluates the arrays that are still expressions, and fills those in memory that are still constants.
    pub(super) fn evaluate(&self, layout: &mut Layout) -> Result<(), Error> {
        for input in layout.inputs.iter_mut().filter(|input| input.form == Form::Memory) {
            if let Some(bits) = input.var.known_bits() {
                let buffer = native::filled(&input.var, bits, self.site)?;
                input.var = record::data_at(self.site, input.var.ty(), input.var.lanes(), buffer);
            }
        }
        let missing = layout.inputs.iter().map(|input| &input.var).filter(|var| !var.is_evaluated());
        let missing: SmallVec<[&Var; 8]> = missing.collect();
        if missing.is_empty() {
            return Ok(());
        }
        schedule::evaluate(&missing, "it is an argument of a recorded function", self.site)
    }

    /// Replays the first recording that fits.
    fn replay(
        &self,
        scratch: &mut Scratch,
        arguments: A,
        body: &mut Option<impl FnOnce(&mut A::Proxies) -> R>,
    ) -> Result<Result<R, (A, Missed)>, Error> {
        // Traversals in the body would store their gradients once more.
        let is_verified = self.function.is_verified() && !scratch.layout.carries();
        let span = events::begin();
        self.function.find(self.of, &scratch.layout, &mut scratch.found);
        let mut failed = Vec::new();
        for position in 0..scratch.found.len() {
            let entry = Arc::clone(&scratch.found[position]);
            let CallPlan::Replay(plan) = &entry.call_plan else {
                self.function.touch(&entry);
                return Ok(Err((arguments, Missed::Run)));
            };
            let Scratch { layout, rejected, .. } = scratch;
            if let Some((_, guard_failure)) = rejected.iter().find(|(tried, _)| Arc::ptr_eq(tried, &entry)) {
                failed.push((Arc::clone(&entry), *guard_failure));
                continue;
            }
            if !plan.shared.is_empty() && !shared::are_in(&arguments, self.function.parameters, &plan.shared) {
                continue;
            }
            plan.check_loaded(layout.inputs.len(), layout.literals.len(), &entry.lifted)?;
            plan.give(layout, &entry.lifted);
            if is_verified {
                layout.donated.fill(false);
            }
            if let Replayed::Rejected(guard_failure) = plan.launch(scratch)? {
                failed.push((Arc::clone(&entry), guard_failure));
                scratch.rejected.push((Arc::clone(&entry), guard_failure));
                continue;
            }
            self.function.touch(&entry);
            self.function.count_replay();
            let body = if is_verified { body.take() } else { None };
            let given_back = self.give_back(&entry, plan, scratch, arguments, body);
            let name = self.function.name.into();
            span.end(Some(self.site), || Activity::Replay(name, self.function.site));
            return given_back.map(Ok);
        }
        Ok(Err((arguments, Missed::Rejected(failed))))
    }

    /// Makes the results of a replay.
    pub(super) fn give_back(
        &self,
        entry: &Entry,
        plan: &Plan,
        scratch: &mut Scratch,
        mut arguments: A,
        body: Option<impl FnOnce(&mut A::Proxies) -> R>,
    ) -> Result<R, Error> {
        let expected = body.map(|body| verify::run(&arguments, body));
        let (copies, given_back) = templates_of::<A, R>(entry, plan, &arguments)?;
        let Scratch { layout, outputs, .. } = scratch;
        let Layout { values, inputs, replayed_sizes: sizes, scalars, .. } = layout;
        values.clear();
        plan.check_outputs(outputs, sizes)?;
        let mut made: SmallVec<[Option<Var>; 8]> = SmallVec::from_elem(None, outputs.len());
        values.extend(plan.values.iter().map(|value| match *value {
            Value::Input(number) => inputs[number as usize].var.clone(),
            Value::Detached(number) => record::detached(&inputs[number as usize].var),
            Value::Output(number, ty, len) => {
                let number = number as usize;
                let make = || record::data_at(self.site, ty, sizes[len.index()], Arc::clone(&outputs[number]));
                made[number].get_or_insert_with(make).clone()
            }
            Value::Known(known, ty, len, is_literal) => {
                known_value(known, ty, sizes[len.index()], is_literal, sizes, scalars)
            }
            Value::Retained(number) => plan.kept[number as usize].clone(),
        }));
        if let Some(flows) = &plan.flows {
            let mut given = std::mem::take(values);
            self.connect(flows, layout, &arguments, &mut given)?;
            layout.values = given;
        }
        let Layout { values, inputs, replayed_sizes: sizes, .. } = layout;
        // From here on only the arguments own their arrays.
        inputs.clear();
        let mut written = plan.sizes.iter().map(|size| sizes[size.index()]);
        let result = put(&mut arguments, copies, plan.is_unchanged, values, given_back, self.site, &mut |size, _| {
            if let Some(value) = written.next() {
                *size = Size::from(value);
            }
        });
        if let Some(expected) = expected {
            verify::compare(self.function, self.site, (&arguments, &result), &expected)?;
        }
        Ok(result)
    }
}

impl<A: Arguments, R: Recordable> Call<'_, A, R> {
    /// Lets gradients flow through the arrays that a call returns.
    #[cold]
    pub(super) fn connect(
        &self,
        flows: &Flows,
        layout: &Layout,
        arguments: &A,
        values: &mut Vec<Var>,
    ) -> Result<(), Error> {
        let derivative = self.again.as_ref().filter(|_| flows.has_results()).map(|body| {
            let call = again::copied::<A, R>(self.of, arguments, body.clone());
            Derivative::new(self.function.derivatives(), Box::new(call), layout, flows)
        });
        let inputs: Vec<Var> = layout.inputs.iter().map(|input| input.var.clone()).collect();
        flows.connect(&inputs, values, derivative, self.site)
    }
}

impl Plan {
    /// Launches the recording, for the inputs that were given.
    pub(super) fn launch(&self, scratch: &mut Scratch) -> Result<Replayed, Error> {
        let Scratch { layout, outputs, .. } = scratch;
        let given = ReplayInputs {
            buffers: &layout.buffers,
            scalars: &layout.scalars,
            sizes: &layout.sizes,
            donated: &layout.donated,
        };
        outputs.clear();
        let _numbers = self.recording.calls_host().then(|| host_call::give_numbers(&layout.numbers));
        self.recording.replay(given, outputs, &mut layout.replayed_sizes)
    }
}

/// Returns the copies of the arguments of a recording, and a copy of its result.
fn templates_of<'e, A: Arguments, R: Recordable>(
    entry: &'e Entry,
    plan: &Plan,
    arguments: &A,
) -> Result<(&'e A::Proxies, R), Error> {
    if let Some(Templates { proxies, result }) = entry.templates.downcast_ref::<Templates<A::Proxies, R>>() {
        return Ok((proxies, result.clone()));
    }
    let loaded = entry.templates.downcast_ref::<LoadedTemplates<R>>();
    let loaded = loaded.expect("recordings are found by the types of arguments and result");
    Ok((loaded.copies(arguments, plan.values.len())?, loaded.result.clone()))
}

/// Creates a value that the host knows when a replay is done.
fn known_value(known: Scalar, ty: Type, width: usize, is_literal: bool, sizes: &[usize], scalars: &[u64]) -> Var {
    let bits = match known {
        Scalar::Constant(bits) => bits,
        Scalar::Input(number) => scalars[number as usize],
        Scalar::Size(size, of) => scalar::cast(Type::U64, of, sizes[SizeId::index(size)] as u64),
    };
    if is_literal { record::literal(ty, bits, width) } else { record::opaque(ty, bits, width) }
}

/// Puts arrays and sizes into the arguments that the body may change, and into the result.
pub(super) fn put<A: Arguments, R: Recordable>(
    arguments: &mut A,
    copies: &A::Proxies,
    is_unchanged: bool,
    values: &mut Vec<Var>,
    mut result: R,
    site: Site,
    size: &mut dyn FnMut(&mut Size, bool),
) -> R {
    let (mut all, mut lent) = (values.drain(..), 0);
    let made = all.len();
    let mut next = |_: &str, var: &mut Var| {
        lent += 1;
        if let Some(value) = all.next() {
            *var = value;
        }
    };
    let mut visitor = VisitorMut::with_sizes(&mut next, size);
    arguments.put(copies, is_unchanged, &mut visitor);
    result.traverse_mut(&mut visitor);
    check_number(type_name::<(A, R)>(), made, lent, site);
    result
}
