//! Which states of a loop carry gradients.
//!
//! While a loop is recorded, nobody knows which of its states will depend on a variable, so all of its parameters of
//! float types carry gradients then. Once the loop is complete, the states are found that really do: those that are
//! made from a variable before the loop, from one that the body reads, or from another such state.

use std::ptr::NonNull;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::gradients;
use crate::graph::node::{Node, Var, flag};
use crate::graph::op::Op;
use crate::graph::payload::{RegionId, State};
use crate::graph::tape::{self, Tape};

/// Marks the states of a complete loop that carry gradients.
pub(crate) fn mark(id: RegionId, states: &mut [State]) {
    if gradients::is_suspended() {
        return;
    }
    let is_flagged = |var: &Var| var.flags() & flag::GRAD != 0;
    for state in states.iter_mut() {
        state.carries = is_flagged(&state.init);
    }
    // Few bodies have such values: those of programs with variables.
    if !states.iter().any(|state| state.carries || state.next.as_ref().is_some_and(is_flagged)) {
        return;
    }
    while let Some(position) = next_of(id, states) {
        states[position].carries = true;
    }
}

/// Returns a state that is not marked yet, and depends on one that is or on a variable that the body reads.
fn next_of(id: RegionId, states: &[State]) -> Option<usize> {
    let mut search = Search { id, states, known: FxHashMap::default() };
    let depends = |state: &State| state.next.as_ref().is_some_and(|next| search.depends(next));
    let found: Vec<bool> = states.iter().map(depends).collect();
    (0..states.len()).find(|&position| found[position] && !states[position].carries)
}

/// Calls a function with the values that a value is made of: those of an operation with a derivative of its own are its
/// inputs, through which gradients flow, too.
fn for_each_input(var: &Var, mut visit: impl FnMut(&Var)) {
    var.for_each_input(&mut visit);
    if var.flags() & flag::TAPED != 0
        && let Some(Tape::Result { call, .. }) = tape::of(var)
    {
        call.inputs.iter().for_each(visit);
    }
}

struct Search<'a> {
    id: RegionId,
    states: &'a [State],
    known: FxHashMap<NonNull<Node>, bool>,
}

impl Search<'_> {
    /// Returns whether a value of the body depends on a variable.
    fn depends(&mut self, root: &Var) -> bool {
        let mut pending = vec![root.clone()];
        let mut begun: FxHashSet<NonNull<Node>> = FxHashSet::default();
        while let Some(var) = pending.last().cloned() {
            let address = var.address();
            if self.known.contains_key(&address) {
                pending.pop();
                continue;
            }
            let own = self.own(&var);
            let is_first = begun.insert(address);
            if own.is_none() && is_first {
                for_each_input(&var, |input| {
                    if !self.known.contains_key(&input.address()) && !begun.contains(&input.address()) {
                        pending.push(input.clone());
                    }
                });
                continue;
            }
            let mut depends = own.unwrap_or(false);
            if own.is_none() {
                for_each_input(&var, |input| depends |= self.known.get(&input.address()).is_some_and(|&known| known));
            }
            self.known.insert(address, depends);
            pending.pop();
        }
        self.known.get(&root.address()).is_some_and(|&known| known)
    }

    /// Returns whether a value depends on a variable, if its operands need not be asked.
    fn own(&self, var: &Var) -> Option<bool> {
        let is_inside = var.region().get() >= self.id.get();
        let is_part = matches!(var.op(), Op::Loop | Op::Branch | Op::Switch | Op::Scatter);
        match () {
            () if !is_inside => Some(var.flags() & flag::GRAD != 0),
            () if var.op() == Op::Param && var.region() == self.id => Some(self.states[var.position()].carries),
            // The initial value decides, which is a part of the loop's node.
            () if var.op() == Op::Param => Some(false),
            () if !is_part && var.flags() & flag::GRAD == 0 => Some(false),
            () => None,
        }
    }
}

/// Removes the flag from the result of a loop whose state carries no gradients.
pub(crate) fn settle(result: &Var, state: &State) {
    if !state.carries {
        result.remove_flag(flag::GRAD);
    }
}
