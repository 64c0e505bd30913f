//! Traversals: gradients flow from results to variables, or tangents from variables to results.

use std::cell::{Cell, RefCell};
use std::time::Instant;

use jit_runtime::ir::ReduceOp;
use jit_runtime::log::{self, Level};
use jit_runtime::{Error, Site};

use super::forward::Tangents;
use super::isolate::{is_allowed, postpone};
use super::reverse::Gradients;
use super::variable::{accumulate, emit_tangent, independent, store, stored, take};
use super::vertex::{Source, Value, Vertex, carries, order};
use super::{collect, inside, weight};
use crate::graph::Var;
use crate::graph::gradients::{self, Scope};
use crate::graph::node::flag;
use crate::graph::payload::RegionId;
use crate::graph::scopes::is_before_isolation;
use crate::graph::tape;
use crate::misuse;
use crate::thread_state::thread_state;
use crate::trace::{record, reduce, region};

/// The direction of a traversal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// From results to variables.
    Backward,
    /// From variables to results.
    Forward,
}

/// What a traversal keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// The operations that gradients have flowed through are released: they do so once.
    Nothing,
    /// Gradients may flow through the same operations again.
    Graph,
}

/// The gradients that a traversal begins with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Seed {
    /// One for each element.
    One,
    /// The stored ones; one for each element where there is none.
    Stored,
}

thread_state! {
    static QUEUE: RefCell<Vec<(Mode, Var)>> = RefCell::new(Vec::new());
    static FLOWING: Cell<u32> = Cell::new(0);
}

/// Until it is dropped, gradients or tangents flow on this thread: what values have kept for them stays as it is.
pub(super) struct Flowing(());

impl Flowing {
    pub(super) fn begin() -> Flowing {
        FLOWING.with(|depth| depth.set(depth.get() + 1));
        Flowing(())
    }

    pub(super) fn is_under_way() -> bool {
        FLOWING.with(Cell::get) > 0
    }
}

impl Drop for Flowing {
    fn drop(&mut self) {
        FLOWING.with(|depth| depth.set(depth.get().saturating_sub(1)));
    }
}

pub(super) const NO_VARIABLE: &str = "call `enable_grad` on an array before it is used; `backward_keep` lets gradients \
    flow again; numbers that the host has read, and what it computes from them, are constants";

const SUSPENDED: &str = "gradients are suspended here, as they are in derivatives of operations: `ad::resume` makes \
    variables there, and `ad::grad` needs none";

const IN_FUNCTION: &str = "it depends on an argument of a function that is differentiated: `detach()` an array before \
    `enable_grad` makes a variable of it there, and `ad::grad` needs none";

impl Seed {
    #[track_caller]
    fn of(self, var: &Var) -> Var {
        let own = if self == Seed::Stored { stored(var) } else { None };
        on_lanes(var, own.unwrap_or_else(|| weight::number(var.ty(), 1.0)))
    }
}

/// Returns a gradient on the lanes that reach the current code, and zero on others: a traversal in a branch is theirs.
/// A value of width 1 counts if any lane does.
#[track_caller]
pub(super) fn on_lanes(var: &Var, gradient: Var) -> Var {
    let Some(mut mask) = region::current_mask() else { return gradient };
    if var.width() == 1 && mask.width() != 1 {
        mask = reduce::reduce(ReduceOp::Or, &mask);
    }
    record::select(&mask, &gradient, &weight::number(var.ty(), 0.0))
}

/// Adds values to those that the next traversal of this thread begins with.
pub(super) fn enqueue(mode: Mode, vars: Vec<Var>) {
    QUEUE.with_borrow_mut(|queue| {
        for var in vars {
            // A gradient is stored once, however often its array is enqueued.
            if !queue.iter().any(|(of, other)| *of == mode && other.is_same(&var)) {
                queue.push((mode, var));
            }
        }
    });
}

/// Traverses from the enqueued values.
#[track_caller]
pub(super) fn traverse(mode: Mode, keep: Keep) -> Result<(), Error> {
    let _line = misuse::enter();
    let queue = QUEUE.with_borrow_mut(|queue| {
        let (now, later) = std::mem::take(queue).into_iter().partition(|(of, _)| *of == mode);
        *queue = later;
        now
    });
    let vars: Vec<Var> = queue.into_iter().map(|(_, var)| var).collect();
    match mode {
        _ if vars.is_empty() => Ok(()),
        Mode::Backward => backward(&vars, Seed::Stored, keep),
        Mode::Forward => forward(&vars, Seed::Stored),
    }
}

/// Returns the error of values that do not depend on a variable, unless that is allowed.
#[track_caller]
pub(super) fn nothing_flows(hint: &str) -> Result<(), Error> {
    let hint = if gradients::is_suspended() { SUSPENDED } else { hint };
    if is_allowed() { Ok(()) } else { Err(independent(Site::here(), hint)) }
}

/// Lets gradients flow from values to the variables behind them, and stores them there.
#[track_caller]
pub(super) fn backward(from: &[Var], seed: Seed, keep: Keep) -> Result<(), Error> {
    let _line = misuse::enter();
    let seeds: Vec<(Var, Var)> =
        from.iter().filter(|var| carries(var)).map(|var| (var.clone(), seed.of(var))).collect();
    let is_start = |var: &Var| seed == Seed::Stored && from.iter().any(|start| start.is_same(var));
    flow(&seeds, keep, &is_start)
}

/// Lets gradients flow from values.
#[track_caller]
pub(super) fn flow_from(seeds: &[(Var, Var)], keep: Keep) -> Result<(), Error> {
    let _line = misuse::enter();
    flow(seeds, keep, &|_| false)
}

#[track_caller]
fn flow(seeds: &[(Var, Var)], keep: Keep, is_start: &dyn Fn(&Var) -> bool) -> Result<(), Error> {
    let begin = Instant::now();
    collect::collect();
    let inside = region::innermost_loop();
    if inside != RegionId::NONE {
        let Some(found) = inside::flow(inside, seeds)? else { return nothing_flows(NO_VARIABLE) };
        found.iter().for_each(|(var, gradient)| accumulate(var, gradient));
        return Ok(());
    }
    // The other arm of a branch, and other targets of a call, are recorded on the same values.
    let keep = if region::is_open() { Keep::Graph } else { keep };
    // The seeds are zero on lanes that are not there.
    let _outside = region::exit_all();
    let from: Vec<Var> = seeds.iter().map(|(var, _)| var.clone()).collect();
    let mut vertices = order(&from, &[])?;
    if !vertices.iter().any(|vertex| variable(vertex).is_some()) {
        return nothing_flows(if vertices.iter().any(is_argument) { IN_FUNCTION } else { NO_VARIABLE });
    }
    let stops = stops(&mut vertices);
    let (found, stopped) = {
        let _suspended = Scope::begin(true);
        let mut gradients = Gradients::default();
        seeds.iter().for_each(|(var, seed)| gradients.add(var, seed.clone()));
        gradients.flow(&vertices)?;
        let found = |var: &Var| Some((var.clone(), gradients.of(var)?));
        let variables: Vec<(Var, Var)> = vertices.iter().filter_map(variable).filter_map(found).collect();
        (variables, stops.iter().filter_map(found).collect::<Vec<_>>())
    };
    // The stored gradient of a start has flowed, and is in the sum.
    found.iter().chain(&stopped).filter(|(var, _)| is_start(var)).for_each(|(var, _)| drop(take(var)));
    found.iter().for_each(|(var, gradient)| accumulate(var, gradient));
    stopped.iter().for_each(|(var, gradient)| postpone(var, gradient, keep));
    if keep == Keep::Nothing {
        release(&vertices);
    }
    log("backward", &vertices, begin);
    Ok(())
}

/// Writes a message of a traversal.
pub(super) fn log(what: &str, vertices: &[Vertex], begin: Instant) {
    log::emit(Level::Debug, || {
        let calls = vertices.iter().filter(|vertex| matches!(vertex, Vertex::Call(_))).count();
        let (values, micros) = (vertices.len() - calls, begin.elapsed().as_micros());
        let of_own =
            if calls > 0 { format!(" and {calls} operations with derivatives of their own") } else { String::new() };
        format!("{what}: through {values} values{of_own}, recorded in {micros} µs")
    });
}

/// Removes the vertices from before an isolated scope, except for variables; returns the values among them.
fn stops(vertices: &mut Vec<Vertex>) -> Vec<Var> {
    let is_before = |vertex: &Vertex| match vertex {
        Vertex::Value(Value { source: Source::Variable | Source::Argument(..), .. }) => false,
        Vertex::Value(Value { var, .. }) => is_before_isolation(var),
        Vertex::Call(_) | Vertex::Loop(_) => false,
    };
    let stops = vertices.extract_if(.., |vertex| is_before(vertex)).filter_map(|vertex| match vertex {
        Vertex::Value(value) => Some(value.var),
        Vertex::Call(_) | Vertex::Loop(_) => None,
    });
    stops.collect()
}

pub(super) fn variable(vertex: &Vertex) -> Option<&Var> {
    match vertex {
        Vertex::Value(Value { var, source: Source::Variable }) => Some(var),
        _ => None,
    }
}

fn is_argument(vertex: &Vertex) -> bool {
    matches!(vertex, Vertex::Value(Value { source: Source::Argument(..), .. }))
}

/// Releases operations through which gradients have flowed, unless a function that is differentiated around them needs
/// them.
fn release(vertices: &[Vertex]) {
    if vertices.iter().any(is_argument) {
        return;
    }
    for vertex in vertices {
        let Vertex::Value(Value { var, source }) = vertex else { continue };
        if matches!(source, Source::Operands(_) | Source::Result(..) | Source::State(..) | Source::Same(_)) {
            store(var, None);
            tape::release(var);
            var.remove_flag(flag::GRAD);
            var.add_flag(flag::DETACHED);
        }
    }
}

/// Lets tangents flow from variables.
#[track_caller]
pub(super) fn forward(from: &[Var], seed: Seed) -> Result<(), Error> {
    let _line = misuse::enter();
    let mut any = false;
    for var in from.iter().filter(|var| carries(var)) {
        let tangent = seed.of(var);
        if seed == Seed::One {
            store(var, None);
        }
        emit_tangent(var, tangent);
        any = true;
    }
    if any { Ok(()) } else { nothing_flows("call `enable_grad` on the array first") }
}

/// Returns the gradients of some values by others between them, without storing any.
#[track_caller]
pub(super) fn backward_to(from: &[Var], seed: Seed, to: &[Var]) -> Result<Vec<Option<Var>>, Error> {
    let _line = misuse::enter();
    let begin = Instant::now();
    let vertices = order(from, &[])?;
    if vertices.is_empty() {
        nothing_flows(NO_VARIABLE)?;
    }
    let _suspended = Scope::begin(true);
    let mut gradients = Gradients::default();
    from.iter().filter(|var| carries(var)).for_each(|var| gradients.add(var, seed.of(var)));
    gradients.flow(&vertices)?;
    log("backward", &vertices, begin);
    Ok(to.iter().map(|var| gradients.of(var).map(|var| record::detached(&var))).collect())
}

/// Returns the tangents of values, from those stored at the variables behind them.
#[track_caller]
pub(super) fn forward_to(to: &[Var]) -> Result<Vec<Option<Var>>, Error> {
    let _line = misuse::enter();
    let begin = Instant::now();
    let vertices = order(to, &[])?;
    if vertices.is_empty() {
        nothing_flows(NO_VARIABLE)?;
    }
    let _suspended = Scope::begin(true);
    let mut tangents = Tangents::default();
    for var in vertices.iter().filter_map(variable) {
        if let Some(tangent) = stored(var) {
            tangents.set(var, tangent);
        }
    }
    tangents.flow(&vertices)?;
    log("forward", &vertices, begin);
    Ok(to.iter().map(|var| tangents.of(var).map(|var| record::detached(&var))).collect())
}
