//! Computing values on some of their lanes.
//!
//! The kernel runs over a list of lane numbers: what is as wide as the values is read there, the number of a lane is the one in the
//! list, and the results are as long as the list. Some arrays may be at hand for these lanes already. This is done only where all
//! of it is one kernel that writes nothing else, so that no other lane is asked for.

use std::panic::Location;
use std::sync::Arc;

use jit_runtime::log::{self, Level};
use jit_runtime::memory::Buffer;
use jit_runtime::{Error, config, stats};
use smallvec::SmallVec;

use super::order::Graph;
use super::{Planned, effect, emit, explain, group, label, start};
use crate::trace::{Var, detach, record};

/// Lanes on which values are computed.
pub(crate) struct Selection {
    /// How many lanes there are in all.
    pub(crate) width: usize,
    /// The numbers of the lanes, in memory.
    pub(crate) lanes: Var,
    /// Arrays, and their elements on these lanes, in memory.
    pub(crate) narrow: Vec<(Var, Var)>,
}

impl Selection {
    /// The elements of an array on the lanes.
    pub(super) fn narrow(&self, var: &Var) -> Option<Arc<Buffer>> {
        self.narrow.iter().find(|(wide, _)| wide.is_same(var)).and_then(|(_, narrow)| narrow.data())
    }

    /// How many elements of a value are computed.
    pub(super) fn len_of(&self, var: &Var) -> usize {
        if var.width() == self.width { self.lanes.width() } else { var.width() }
    }
}

/// Computes values on some of their lanes, and reductions over these lanes; nothing if that is more than one kernel.
pub(crate) fn evaluate_selected(
    selection: &Selection,
    wanted: &[&Var],
    why: &'static str,
    site: &'static Location<'static>,
) -> Result<Option<Vec<Var>>, Error> {
    // What is checked is told by the number of its lane.
    if config::is_debug_on() || wanted.iter().any(|var| var.is_evaluated()) {
        return Ok(None);
    }
    if wanted.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let Some((planned, outputs)) = plan(selection, wanted, why, site)? else { return Ok(None) };
    stats::count_evaluation();
    start(planned, site).1?;
    let results = wanted.iter().zip(outputs);
    let results = results.map(|(var, buffer)| record::data_at(var.site(), var.ty(), selection.len_of(var), buffer));
    Ok(Some(results.collect()))
}

type Computed = (Planned, Vec<Arc<Buffer>>);

fn plan(
    selection: &Selection,
    wanted: &[&Var],
    why: &'static str,
    site: &'static Location<'static>,
) -> Result<Option<Computed>, Error> {
    let edges = detach::read();
    let held = effect::Held::search(&edges, wanted);
    let mut graph = Graph::of(&edges, wanted, &held, Some(selection))?;
    if !graph.effects.is_empty() || !graph.memories.is_empty() {
        return Ok(None);
    }
    let groups = group::groups(&mut graph);
    let [group] = &groups[..] else { return Ok(None) };
    let is_wanted = |&root: &u32| wanted.iter().any(|var| var.is_same(graph.entries[root as usize].var));
    if group.lanes != selection.width || !graph.natives.is_empty() || !group.roots.iter().all(is_wanted) {
        return Ok(None);
    }
    log::emit(Level::Debug, || explain::evaluation(&graph, &groups, wanted, why, site));
    let mut outputs = emit::Outputs::default();
    let emitted = emit::emit(&graph, group, &mut outputs)?;
    let root_of = |var: &Var| group.roots.iter().find(|&&root| graph.entries[root as usize].var.is_same(var));
    let buffers: Option<Vec<Arc<Buffer>>> =
        wanted.iter().map(|var| root_of(var).and_then(|root| outputs.get(root)).cloned()).collect();
    let (lanes, label) = (selection.lanes.width(), label(&graph, group));
    let planned = Planned { emitted, lanes, reduce_block: None, label, written: SmallVec::new() };
    Ok(buffers.map(|buffers| (planned, buffers)))
}
