//! Computing values on only some of their lanes.
//!
//! The kernels run over a list of lane numbers. Arrays as wide as the values are read there, the lane number is the one
//! in the list, and the results are as long as the list. Some arrays may already be available for these lanes. Scatters
//! write as usual, in the order of the list, so the list is ascending. Nothing is done if another lane would be needed:
//! if the values combine lanes, or something else must be computed with them on all lanes.

use std::sync::Arc;

use jit_runtime::log::{self, Level};
use jit_runtime::memory::Buffer;
use jit_runtime::stats::events::{self, Activity};
use jit_runtime::{Error, Site, config, stats};
use smallvec::SmallVec;

use super::group::{self, Group};
use super::order::{Entry, Graph, NONE};
use super::{Plan, Planned, Step, effect, emit, explain, function, label, run_new, selected_derivative, written};
use crate::capture::launches;
use crate::graph::device::Devices;
use crate::graph::node::flag;
use crate::graph::payload::How;
use crate::graph::{Op, Var, edges};
use crate::trace::record;
use crate::trace::region::{self, Writes};
use crate::trace::scatter::{Request, scatter};

/// The lanes on which values are computed.
pub(crate) struct Selection {
    /// The number of all lanes.
    pub(crate) width: usize,
    /// The numbers of the lanes, ascending, in memory.
    pub(crate) lanes: Var,
    /// Arrays, and their elements on these lanes, in memory.
    pub(crate) narrow: Vec<(Var, Var)>,
    /// The nodes that may write to arrays: they do so only on these lanes.
    pub(crate) writes: Writes,
}

/// Values that were computed on some of their lanes.
pub(crate) struct Selected {
    /// The elements of the wanted values on these lanes; arrays that were written are entire arrays.
    pub(crate) values: Vec<Var>,
    retained: Vec<(Var, Var)>,
}

impl Selected {
    /// Assigns elements to the other owned results of writing lanes, zero on other lanes, because they cannot be
    /// computed again. The wanted values should have been dropped.
    pub(crate) fn finish(self, selection: &Selection, site: Site) -> Result<(), Error> {
        let _outside = region::exit_all();
        for (var, narrow) in self.retained.into_iter().filter(|(var, _)| var.count() > 1 && !var.is_evaluated()) {
            let mut wide = record::literal(var.ty(), 0, selection.width);
            let (index, value) = (&selection.lanes, &narrow);
            scatter(&mut wide, &Request { how: How::Write, index, value, expected: None, mask: None });
            super::evaluate(&[&wide], "the results of writes are retained", site)?;
            var.share_data(&wide);
        }
        Ok(())
    }
}

impl Selection {
    /// Returns the elements of an array on the lanes.
    pub(super) fn narrow(&self, var: &Var) -> Option<Arc<Buffer>> {
        self.narrow.iter().find(|(wide, _)| wide.is_same(var)).and_then(|(_, narrow)| narrow.data())
    }

    /// Returns the number of elements of a value that are computed.
    pub(super) fn len_of(&self, var: &Var) -> usize {
        if var.lanes() == self.width { self.lanes.lanes() } else { var.lanes() }
    }
}

/// Computes values on some of their lanes, reductions over these lanes, and arrays that these lanes write; returns
/// `None` if that cannot be done for these lanes alone.
pub(crate) fn evaluate_selected(
    selection: &Selection,
    wanted: &[&Var],
    why: &'static str,
    site: Site,
) -> Result<Option<Selected>, Error> {
    let _scope = Devices::of_all(wanted.iter().copied().chain([&selection.lanes])).enter();
    let compute = || compute(selection, wanted, why, site);
    if wanted.iter().any(|var| var.flags() & flag::EFFECT != 0) { effect::alone(compute) } else { compute() }
}

fn compute(selection: &Selection, wanted: &[&Var], why: &'static str, site: Site) -> Result<Option<Selected>, Error> {
    // Checks report by lane number.
    if config::is_debug_on() || launches::is_recording() || wanted.iter().any(|var| var.is_evaluated()) {
        return Ok(None);
    }
    if wanted.is_empty() {
        return Ok(Some(Selected { values: Vec::new(), retained: Vec::new() }));
    }
    let span = events::begin();
    let Some(Computed { plan, outputs, retained }) = plan(selection, wanted, why, site)? else { return Ok(None) };
    stats::count_evaluation();
    let outcome = run_new(plan, site);
    span.end(Some(site), || Activity::Evaluation(why));
    outcome?;
    let narrow = |var: &Var, buffer| record::data_at(var.site(), var.ty(), selection.len_of(var), buffer);
    let value = |(var, buffer): (&&Var, Option<Arc<Buffer>>)| match buffer {
        Some(buffer) => selected_derivative::attach(narrow(var, buffer), var, &selection.lanes),
        None => (*var).clone(),
    };
    let retained = retained.into_iter().map(|(var, buffer)| (var.clone(), narrow(&var, buffer))).collect();
    Ok(Some(Selected { values: wanted.iter().zip(outputs).map(value).collect(), retained }))
}

struct Computed {
    plan: Plan,
    /// For each wanted value its elements, unless it is an array that is written.
    outputs: Vec<Option<Arc<Buffer>>>,
    /// The other results computed with them, because writes happen only once.
    retained: Vec<(Var, Arc<Buffer>)>,
}

fn plan(selection: &Selection, wanted: &[&Var], why: &'static str, site: Site) -> Result<Option<Computed>, Error> {
    let edges = edges::read();
    let held = effect::Held::search(&edges, wanted);
    let mut graph = Graph::of(&edges, wanted, &held, Some(selection))?;
    if !graph.natives.is_empty() || !stays_on_lanes(&graph, selection, wanted) {
        return Ok(None);
    }
    let groups = group::groups(&mut graph)?;
    log::emit(Level::Debug, || explain::evaluation(&graph, &groups, wanted, why, site));
    let mut outputs = emit::Outputs::default();
    let (mut steps, mut tables) = (SmallVec::new(), emit::Tables::new(graph.entries.len()));
    for group in &groups {
        let emitted = emit::emit(&graph, group, &mut outputs, &mut emit::Spare::default(), &mut tables)?;
        let is_selected = group.is_selected(selection);
        let lanes = if is_selected { selection.lanes.extent() } else { group.lanes };
        let mut written = written(&graph, group, &outputs);
        if is_selected {
            // The others have elements only on these lanes.
            written.retain(|(var, _)| is_array(&graph, group, var));
        }
        let reduce_block = if is_selected { None } else { group.reduce_block() };
        let function = function(&graph, group);
        let label = label(function);
        steps.push(Step::Kernel(Planned { emitted, lanes, reduce_block, label, function, written, origins: None }));
    }
    let number_of = |var: &Var| (0..graph.entries.len()).find(|&number| is_value(&graph, number, var));
    let elements = |var: &&Var| number_of(var).and_then(|number| outputs.get(&(number as u32)).cloned());
    let retained = held.iter().filter(|var| !is_in(wanted, var)).filter_map(|var| Some((var.clone(), elements(&var)?)));
    let retained = retained.filter(|(var, _)| var.lanes() == selection.width).collect();
    let outputs = wanted.iter().map(elements).collect();
    Ok(Some(Computed { plan: Plan { steps, empty: SmallVec::new(), new_trace: None }, outputs, retained }))
}

fn is_in(wanted: &[&Var], var: &Var) -> bool {
    wanted.iter().any(|wanted| wanted.is_same(var))
}

/// Returns whether an entry is a value that is not in an array.
fn is_value(graph: &Graph<'_>, number: usize, var: &Var) -> bool {
    let entry = &graph.entries[number];
    entry.var.is_same(var) && !entry.is_copy && entry.memory == NONE
}

/// Returns whether a root of a group is an array that lanes write.
fn is_array(graph: &Graph<'_>, group: &Group, var: &Var) -> bool {
    group
        .roots
        .iter()
        .map(|&root| &graph.entries[root as usize])
        .any(|entry| entry.memory != NONE && entry.var.is_same(var))
}

/// Returns whether no lane depends on another one. Everything as wide as the lanes that is written to memory must be
/// wanted itself, an array that is written, the copy of one, or a retained result of writing lanes.
fn stays_on_lanes(graph: &Graph<'_>, selection: &Selection, wanted: &[&Var]) -> bool {
    let is_of_lanes = |entry: &Entry<'_>| entry.lanes(&graph.entries).lanes as usize == selection.width;
    let is_whole = |entry: &Entry<'_>| match entry.is_evaluated {
        true => entry.var.is_evaluated(),
        false => entry.memory != NONE || !is_of_lanes(entry),
    };
    let is_retained = |entry: &Entry<'_>| {
        let is_result = matches!(entry.op, Op::ScatterResult | Op::LoopResult);
        is_result
            && entry.var.lanes() == selection.width
            && graph.is_writing(&graph.entries[entry.operands[0] as usize])
    };
    graph.entries.iter().all(|entry| {
        let source = || graph.entries.get(entry.operands[0] as usize);
        match entry.op {
            _ if entry.is_copy => {
                selection.narrow.is_empty() && !source().is_some_and(|source| source.is_root)
                    || source().is_some_and(is_whole)
            }
            // Another lane would write later, or never.
            _ if graph.is_writing(entry) && !selection.writes.contains(entry.var) => false,
            Op::Gather if !entry.is_evaluated && !source().is_some_and(is_whole) => false,
            _ if !entry.is_root || entry.is_evaluated || entry.memory != NONE => true,
            _ => !is_of_lanes(entry) || is_in(wanted, entry.var) || is_retained(entry),
        }
    })
}
