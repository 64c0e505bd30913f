//! Checks that a traced loop does not read arrays that it writes to.
//!
//! The parameter of a state looks the same whether the state is a per-lane value or an array in memory that all lanes
//! share. Which of them it is, is known only after the body has been recorded. So the body is then searched for uses
//! that an array in memory does not allow, and for writes to it whose result the loop would lose.

use std::ptr::NonNull;

use rustc_hash::FxHashSet;

use jit_runtime::Site;

use super::{region, scatter};
use crate::graph::node::{Node, Var};
use crate::graph::op::Op;
use crate::graph::payload::{LoopPayload, Payload, RegionId, State, Write};
use crate::misuse::Misuse;

/// Returns the versions of a state in memory that the body makes, each with the scatter or loop that does; the last
/// first.
fn versions(state: &State) -> Vec<[Var; 2]> {
    let mut versions = Vec::new();
    let mut array = state.next.clone().filter(|_| state.is_memory);
    while let Some(after) = array.take().filter(|array| !array.is_same(&state.param)) {
        let Some((before, writer)) = scatter::before(&after) else { break };
        versions.push([after, writer]);
        array = Some(before);
    }
    versions
}

/// Returns the scatters and loops that write to a state in memory in the body, the last first.
pub(crate) fn writers(state: &State) -> Vec<Var> {
    versions(state).into_iter().map(|[_, writer]| writer).collect()
}

/// Returns the writes to a state in memory in the body of a loop, the last first.
pub(crate) fn writes(payload: &LoopPayload, position: usize) -> Vec<Write> {
    let omitted = payload.omitted.iter().filter(|(of, _)| *of == position);
    let write = |[after, writer]: [Var; 2]| match writer.payload() {
        Some(Payload::Scatter(scatter)) => Write::Scatter {
            how: scatter.how,
            index: scatter.index.clone(),
            value: scatter.value.clone(),
            mask: scatter.mask.clone(),
        },
        _ => Write::Loop { position: scatter::original(&after).position(), control: writer },
    };
    omitted.map(|(_, write)| write.clone()).chain(versions(&payload.states[position]).into_iter().map(write)).collect()
}

/// Rejects a value that is an array in memory, written by lanes of an open region.
pub(crate) fn refuse_reading(var: &Var, site: Site) {
    if var.region() == RegionId::WRITING {
        region::refuse_reading(var, site);
    }
}

/// Checks the uses of arrays in the condition and body of a loop that has just been closed.
pub(crate) fn check(id: RegionId, condition: &Var, states: &[State], site: Site) {
    let arrays = states.iter().filter(|state| state.is_memory || state.init.region() == RegionId::WRITING);
    let mut search = Search {
        id,
        arrays: arrays.map(|state| state.param.address()).collect(),
        writers: states.iter().flat_map(writers).map(|writer| writer.address()).collect(),
        seen: FxHashSet::default(),
        pending: Vec::new(),
        site,
    };
    // For an array that is not written, the parameter itself may be the next state.
    let next = states.iter().filter_map(|state| state.next.as_ref());
    [condition].into_iter().chain(next).for_each(|var| search.reach(var));
    while let Some(var) = search.pending.pop() {
        search.visit(&var);
    }
}

struct Search {
    id: RegionId,
    /// Parameters that are arrays in memory.
    arrays: FxHashSet<NonNull<Node>>,
    /// The scatters and loops that make the next state of arrays in memory.
    writers: FxHashSet<NonNull<Node>>,
    seen: FxHashSet<NonNull<Node>>,
    pending: Vec<Var>,
    site: Site,
}

impl Search {
    fn reach(&mut self, var: &Var) {
        // Nodes recorded before the loop do not depend on it.
        if var.region() >= self.id && self.seen.insert(var.address()) {
            self.pending.push(var.clone());
        }
    }

    fn visit(&mut self, var: &Var) {
        if self.arrays.contains(&var.address()) {
            region::refuse_reading(var, self.site);
        }
        match var.payload() {
            Some(payload @ Payload::Scatter(scatter)) => {
                self.check_writer(var, &scatter.target);
                payload
                    .inputs()
                    .filter(|(_, operand)| !operand.is_same(&scatter.target))
                    .for_each(|(_, operand)| self.reach(operand));
                self.reach_array(&scatter.target);
            }
            Some(Payload::Loop(payload)) => {
                // A copy without effects writes nothing.
                for state in payload.states.iter().filter(|state| state.is_memory && state.next.is_some()) {
                    self.check_writer(var, &state.init);
                    self.reach_array(&state.init);
                }
                for state in &payload.states {
                    if state.next.is_none() && self.arrays.contains(&state.init.address()) {
                        self.arrays.insert(state.param.address());
                    }
                    state.next.iter().for_each(|next| self.reach(next));
                    if !state.is_memory && state.next.is_some() {
                        self.reach(&state.init);
                    }
                }
                self.reach(&payload.condition);
            }
            Some(payload @ (Payload::Branch(_) | Payload::Switch(_) | Payload::LibraryCall(_))) => {
                payload.inputs().for_each(|(_, var)| self.reach(var))
            }
            None => {
                (0..var.op().slots()).filter_map(|slot| var.operand(slot)).for_each(|operand| self.reach(&operand));
            }
        }
    }

    /// Visits the earlier writes to the array.
    fn reach_array(&mut self, array: &Var) {
        if array.op() != Op::Param {
            self.reach(array);
        }
    }

    /// Rejects writes to a state whose result the loop does not take: every iteration would begin with the contents
    /// from before the loop.
    fn check_writer(&self, writer: &Var, target: &Var) {
        let origin = scatter::origin(target);
        if origin.region() != self.id || self.writers.contains(&writer.address()) {
            return;
        }
        Misuse::new("a traced loop writes to a copy of its state", writer.site())
            .value("the state", &origin)
            .place("the loop begins", self.site)
            .hint("scatter to the variable itself, which carries the written elements to the next iteration")
            .panic();
    }
}
