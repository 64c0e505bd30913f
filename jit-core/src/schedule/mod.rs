//! Scheduling: the graph and the wanted values → kernels and what they are launched on.
//!
//! | step | part |
//! |---|---|
//! | which state of loops is needed | `live` |
//! | the graph in order | `order` |
//! | cut into kernels | `group` |
//! | what stands in which loop or branch | `place` |
//! | kernel IR, memory | `emit` |
//!
//! While the graph is walked its edges stay in place (see [`crate::trace::detach`]); kernels are launched after that. When all are launched,
//! the nodes get their memory and lose their operands, which frees the graph behind them. An error on the way leaves every
//! array as it was. Two threads that evaluate the same node both compute it, and the first one's memory stays.

use std::cell::RefCell;
use std::panic::Location;
use std::sync::Arc;

use jit_runtime::device::current_device;
use jit_runtime::dump::{self, Form};
use jit_runtime::launch::{Launch, launch};
use jit_runtime::memory::Buffer;
use jit_runtime::{Error, launch as machine};
use smallvec::SmallVec;

use crate::control;
use crate::trace::node::Weak;
use crate::trace::region::RegionId;
use crate::trace::{Op, Var, detach};

mod draw;
mod emit;
mod group;
mod live;
mod map;
mod order;
mod place;

pub(crate) use draw::draw;

/// Kernels that are ready to be launched, and the memory that they write.
struct Plan {
    kernels: SmallVec<[Planned; 1]>,
    results: SmallVec<[(Var, Arc<Buffer>); 2]>,
}

struct Planned {
    emitted: emit::Emitted,
    lanes: usize,
    label: &'static str,
}

thread_local! {
    /// What `schedule` has marked on this thread.
    static MARKED: RefCell<Vec<Weak>> = const { RefCell::new(Vec::new()) };
}

/// Marks values to be computed by this thread's next evaluation, if they still live then.
pub(crate) fn mark(var: &Var) {
    if !var.is_evaluated() {
        MARKED.with_borrow_mut(|marked| marked.push(var.downgrade()));
    }
}

/// Computes values, and whatever was marked on this thread. Returns when the kernels are launched.
pub(crate) fn evaluate(wanted: &[&Var], site: &'static Location<'static>) -> Result<(), Error> {
    let marked: Vec<Var> =
        MARKED.with_borrow_mut(|marked| marked.drain(..).filter_map(|weak| weak.upgrade()).collect());
    let all = wanted.iter().copied().chain(marked.iter().filter(|var| var.region() == RegionId::NONE));
    let missing: SmallVec<[&Var; 8]> = all.filter(|var| !var.is_evaluated()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if let Some(inside) = missing.iter().find(|var| var.region() != RegionId::NONE) {
        return Err(order::only_inside(inside).at(site));
    }
    let plan = plan(&missing)?;
    run(plan, site)
}

/// Builds the kernels.
fn plan(wanted: &[&Var]) -> Result<Plan, Error> {
    let edges = detach::read();
    let mut graph = order::Graph::of(&edges, wanted)?;
    let groups = group::groups(&mut graph);
    if dump::is_wanted(Form::Trace) {
        dump::write(Form::Trace, "evaluation", &draw::list(&graph, &groups));
    }
    let mut outputs = emit::Outputs::default();
    let mut kernels = SmallVec::new();
    for group in &groups {
        let emitted = emit::emit(&graph, group, &mut outputs)?;
        kernels.push(Planned { emitted, lanes: group.lanes, label: label(&graph, group) });
    }
    let mut results: SmallVec<[(Var, Arc<Buffer>); 2]> =
        outputs.into_iter().map(|(number, buffer)| (graph.entries[number as usize].var.clone(), buffer)).collect();
    for var in wanted.iter().filter(|var| var.width() == 0) {
        results.push(((*var).clone(), Buffer::alloc(0)?));
    }
    Ok(Plan { kernels, results })
}

/// How many of a kernel's operations are asked for their function, before it stays without a name.
const LABEL_SEARCH: usize = 16;

/// The name of the function that recorded what a kernel computes: of its results, or else of the last operations before them.
fn label(graph: &order::Graph<'_>, group: &group::Group) -> &'static str {
    let operations = group.roots.iter().chain(group.order.iter().rev().take(LABEL_SEARCH));
    let mut sites = operations.map(|&number| graph.entries[number as usize].var.site());
    let mut last = std::ptr::null();
    sites
        .find_map(|site| {
            let is_new = !std::ptr::eq(std::mem::replace(&mut last, site), site);
            if is_new { control::label_at(site) } else { None }
        })
        .or_else(control::current_label)
        .unwrap_or("trace")
}

/// Launches the kernels and gives the nodes their memory.
fn run(plan: Plan, site: &'static Location<'static>) -> Result<(), Error> {
    let device = current_device();
    for Planned { emitted, lanes, label } in plan.kernels {
        let emit::Emitted { kernel, arguments } = emitted;
        launch(Launch { device, kernel, width: lanes, arguments, label, site: Some(site) })?;
    }
    let vars: SmallVec<[Var; 2]> = plan
        .results
        .into_iter()
        .map(|(var, buffer)| {
            var.set_data(buffer);
            var
        })
        .collect();
    detach::detach(vars.iter());
    Ok(())
}

/// Waits until everything that was launched is done.
pub(crate) fn sync() -> Result<(), Error> {
    machine::sync()
}

/// What has become of a value, in a word.
pub(crate) fn state_name(var: &Var) -> &'static str {
    match var.op() {
        Op::Literal => "literal",
        Op::Scalar => "opaque",
        Op::Placeholder => "placeholder",
        _ if var.has_data() => "evaluated",
        _ if var.region() != RegionId::NONE => "in a loop",
        _ => "unevaluated",
    }
}
