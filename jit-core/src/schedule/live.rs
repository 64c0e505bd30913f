//! Liveness: the states of loops, and results of branches, that the wanted values depend on.
//!
//! A loop's state may be used only by itself, or by another dead state. So the graph is first searched for reachable
//! values. Reaching a result, or the parameter of a state, makes its initial and next value reachable. Graphs without
//! loops and branches skip this.

use std::ptr::NonNull;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::Var;
use crate::graph::edges::Edges;
use crate::graph::inputs::Role;
use crate::graph::node::{Node, flag};
use crate::graph::op::Op;
use crate::graph::payload::Payload;

/// The result of the search.
#[derive(Default)]
pub(super) struct Live<'e> {
    /// For each loop and branch, the positions of reachable state and results.
    positions: FxHashMap<NonNull<Node>, Vec<bool>>,
    /// For each reachable parameter of a loop, the loop.
    loops: FxHashMap<NonNull<Node>, &'e Var>,
}

impl<'e> Live<'e> {
    /// Searches the graph of some nodes.
    pub(super) fn search(edges: &'e Edges, wanted: &[&'e Var]) -> Live<'e> {
        if wanted.iter().all(|var| var.flags() & flag::CONTROL == 0) {
            return Live::default();
        }
        let mut search = Search { edges, live: Live::default(), seen: FxHashSet::default(), pending: Vec::new() };
        wanted.iter().for_each(|var| search.reach(var));
        while let Some(var) = search.pending.pop() {
            search.visit(var);
        }
        search.live
    }

    /// Returns whether a state or result of a loop or branch is reachable.
    pub(super) fn is_live(&self, control: &Var, position: usize) -> bool {
        self.positions.get(&control.address()).is_some_and(|live| live[position])
    }

    /// Returns the loop of a parameter.
    pub(super) fn loop_of(&self, param: &Var) -> Option<&'e Var> {
        self.loops.get(&param.address()).copied()
    }
}

struct Search<'e> {
    edges: &'e Edges,
    live: Live<'e>,
    seen: FxHashSet<NonNull<Node>>,
    pending: Vec<&'e Var>,
}

impl<'e> Search<'e> {
    fn reach(&mut self, var: &'e Var) {
        let has_control = var.flags() & flag::CONTROL != 0 || var.op() == Op::Param || self.is_inside(var);
        if has_control && !var.is_evaluated() && self.seen.insert(var.address()) {
            self.pending.push(var);
        }
    }

    /// Returns whether a node depends on a loop's parameters, so that it must be searched for them.
    fn is_inside(&self, var: &Var) -> bool {
        var.region() != crate::graph::payload::RegionId::NONE
    }

    fn visit(&mut self, var: &'e Var) {
        if let Some(original) = var.op().original_slot().and_then(|slot| self.edges.operand(var, slot)) {
            return self.reach(original);
        }
        match var.op() {
            Op::Param => {
                if let Some(control) = self.live.loop_of(var) {
                    self.reach_position(control, var.position());
                }
            }
            Op::LoopResult | Op::BranchResult | Op::SwitchResult => {
                if let Some(control) = self.edges.operand(var, 0) {
                    self.reach_control(control);
                    self.reach_position(control, var.position());
                }
            }
            Op::Scatter => {
                var.payload().into_iter().flat_map(Payload::inputs).for_each(|(_, input)| self.reach(input));
            }
            op => (0..op.slots()).for_each(|slot| {
                if let Some(operand) = self.edges.operand(var, slot) {
                    self.reach(operand);
                }
            }),
        }
    }

    fn reach_control(&mut self, control: &'e Var) {
        if self.live.positions.contains_key(&control.address()) {
            return;
        }
        let Some(payload) = control.payload() else { return };
        if let Payload::Loop(payload) = payload {
            for state in &payload.states {
                self.live.loops.insert(state.param.address(), control);
            }
        }
        self.live.positions.insert(control.address(), vec![false; payload.positions()]);
        // Conditions and checks belong to no position and come first.
        let shared = (0..).map_while(|number| payload.input(number)).take_while(|input| input.position.is_none());
        let chosen = shared.filter(|input| matches!(input.role, Role::Choice | Role::Check));
        chosen.filter_map(|input| input.var).for_each(|var| self.reach(var));
    }

    fn reach_position(&mut self, control: &'e Var, position: usize) {
        let Some(live) = self.live.positions.get_mut(&control.address()) else { return };
        if std::mem::replace(&mut live[position], true) {
            return;
        }
        let parts = control.payload().into_iter().flat_map(|payload| payload.inputs_at(position));
        parts.filter(|(role, _)| *role != Role::Param).for_each(|(_, var)| self.reach(var));
    }
}
