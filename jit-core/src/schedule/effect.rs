//! Scatters: the memory that they write, and the results that must be computed with them.
//!
//! A scatter writes in place to the memory of the array that it changes, if that array has no other owner. Otherwise,
//! and if the array is not in memory yet, an earlier kernel writes a copy. Consecutive scatters are consecutive
//! kernels, except for those that combine by the same operation over the same lanes, whose order does not matter.
//!
//! A loop that scatters writes memory for each of its states in memory; inside it, scatters to one state write the same
//! memory, in the order of the lane.
//!
//! A kernel that has written in place cannot run again. So all owned results of such a scatter or loop are computed
//! with it. A per-lane result is used by the same kernel, or read from memory by later ones.

use parking_lot::Mutex;
use rustc_hash::FxHashSet;

use super::order::{Entry, NONE, Walk};
use crate::fork;
use crate::graph::Var;
use crate::graph::device::Devices;
use crate::graph::edges::Edges;
use crate::graph::node::flag;
use crate::graph::op::Op;
use crate::graph::payload::{How, LoopPayload, Payload, RegionId, ScatterPayload};
use crate::size::extent::Extent;
use crate::trace::local;
use crate::trace::scatter::ARRAY;

/// A scatter of a kernel.
pub(super) struct Effect<'e> {
    pub(super) payload: &'e ScatterPayload,
    pub(super) memory: u32,
    /// The array before the scatter, if the same kernel writes it.
    previous: u32,
    pub(super) index: u32,
    pub(super) value: u32,
    pub(super) expected: u32,
    pub(super) mask: u32,
}

impl Effect<'_> {
    /// Returns the entries that the scatter uses as per-lane values or must follow.
    pub(super) fn used(&self) -> impl Iterator<Item = u32> {
        [self.previous, self.index, self.value, self.expected, self.mask].into_iter().filter(|&entry| entry != NONE)
    }

    /// Returns the array before the scatter, if the same kernel writes it.
    pub(super) fn before(&self) -> Option<u32> {
        Some(self.previous).filter(|&entry| entry != NONE)
    }
}

/// The origin of memory that kernels write in place.
#[derive(Clone, Copy)]
pub(super) enum Memory {
    /// The storage of an evaluated array without another owner, by its entry.
    Taken(u32),
    /// A copy that a kernel of this evaluation writes, by its entry.
    Copied(u32),
    /// For a loop's state, the memory of its initial value; unknown until the loop is complete.
    Same(u32),
}

/// A state of a loop that is in memory.
#[derive(Clone, Copy)]
pub(super) struct Shared {
    /// Its position in the payload.
    pub(super) position: usize,
    pub(super) memory: u32,
    /// The initial value, if the same kernel writes it.
    pub(super) previous: u32,
    /// The value after the body.
    pub(super) next: u32,
}

/// Held while a graph with nodes that can run only once is evaluated.
static ALONE: Mutex<()> = Mutex::new(());

/// Calls a function while no other thread is in this one.
pub(super) fn alone<R>(evaluate: impl FnOnce() -> R) -> R {
    let _guard = ALONE.lock();
    evaluate()
}

/// Results that must be computed together with the wanted values, kept alive until then.
#[derive(Default)]
pub(super) struct Held {
    vars: Vec<Var>,
    addresses: FxHashSet<usize>,
}

impl Held {
    /// Searches the graph of some nodes for nodes that can run only once, and acquires all their results.
    pub(super) fn search<'e>(edges: &'e Edges, wanted: &[&'e Var]) -> Held {
        let mut held = Held::default();
        let mut seen = FxHashSet::default();
        let mut pending: Vec<&'e Var> = wanted.to_vec();
        while let Some(var) = pending.pop() {
            let is_behind = var.flags() & flag::EFFECT != 0 && !var.is_evaluated();
            if !is_behind || !seen.insert(var.address()) {
                continue;
            }
            if let Some(original) = var.op().original_slot().and_then(|slot| edges.operand(var, slot)) {
                pending.push(original);
                continue;
            }
            pending.extend((0..var.op().slots()).filter_map(|slot| edges.operand(var, slot)));
            let Some(payload) = var.payload() else { continue };
            pending.extend(payload.inputs().map(|(_, var)| var));
            payload.held_results().into_iter().for_each(|result| held.add(result));
        }
        held
    }

    fn add(&mut self, var: Var) {
        if !var.is_evaluated() && self.addresses.insert(var.address().addr().get()) {
            self.vars.push(var);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Var> {
        self.vars.iter()
    }

    /// Returns whether only one node owns an array, which may then be overwritten.
    fn is_sole(&self, var: &Var) -> bool {
        var.count() == 1 + u32::from(self.addresses.contains(&var.address().addr().get())) && !var.may_share_memory()
    }
}

impl<'e> Walk<'e> {
    /// Makes the entry of a scatter whose operands have entries.
    pub(super) fn finish_scatter(&mut self, var: &'e Var) -> u32 {
        let Some(Payload::Scatter(payload)) = var.payload() else { return NONE };
        let [index, value] = [&payload.index, &payload.value].map(|operand| self.number(operand));
        let [expected, mask] = [&payload.expected, &payload.mask]
            .map(|operand| operand.as_ref().map_or(NONE, |operand| self.number(operand)));
        let used = [index, value, expected, mask].into_iter().filter(|&number| number != NONE);
        let stage = used.map(|number| self.stage_after(number)).max().unwrap_or(0);
        let Place { memory, ready, previous } = self.place_of(&payload.target);
        let target = self.number(&payload.target);
        let (stage, previous) = match self.joined(target, memory, payload, var.extent()) {
            Some(before) if before >= stage => (before, target),
            _ => (stage.max(ready), previous),
        };
        let effect = self.graph.effects.len() as u32;
        self.graph.effects.push(Effect { payload, memory, previous, index, value, expected, mask });
        self.push(var, [NONE; 3], stage, var.region(), effect)
    }

    /// Returns the stage of the kernel that writes an array, if a scatter may join it: both combine by the same
    /// operation, or write different elements, over the same number of lanes.
    fn joined(&self, target: u32, memory: u32, payload: &ScatterPayload, lanes: Extent) -> Option<u32> {
        let entry = &self.graph.entries[target as usize];
        if entry.op != Op::ScatterResult || entry.is_evaluated || entry.memory != memory {
            return None;
        }
        let scatter = &self.graph.entries[entry.operands[0] as usize];
        let before = self.graph.effects[scatter.control as usize].payload.how;
        let is_any_order = payload.is_disjoint || matches!(payload.how, How::Reduce(_));
        let is_as_wide = scatter.var.extent().representative() == lanes.representative();
        (is_any_order && before == payload.how && is_as_wide).then_some(entry.stage)
    }

    /// Returns the memory of an array that is overwritten.
    fn place_of(&mut self, array: &'e Var) -> Place {
        let number = self.number(array);
        let entry = self.graph.entries[number as usize];
        if entry.region != RegionId::NONE && entry.memory != NONE {
            return Place { memory: entry.memory, ready: entry.stage, previous: number };
        }
        let is_sole = self.held.is_sole(array);
        if is_sole && entry.memory != NONE {
            return Place { memory: entry.memory, ready: entry.stage + 1, previous: NONE };
        }
        // Constants are where they were written; those in memory of another machine are copied like shared arrays.
        let is_here = || array.devices() != Devices::NONE || array.data().is_none_or(|buffer| buffer.adopt());
        if is_sole && array.has_data() && is_here() {
            return Place { memory: self.add_memory(Memory::Taken(number)), ready: 0, previous: NONE };
        }
        let stage = self.stage_after(number);
        let copy = self.push_copy(array, number, stage);
        Place { memory: self.add_memory(Memory::Copied(copy)), ready: stage + 1, previous: NONE }
    }

    fn add_memory(&mut self, memory: Memory) -> u32 {
        self.graph.memories.push(memory);
        self.graph.memories.len() as u32 - 1
    }

    /// Makes the entry of a scatter's result.
    pub(super) fn finish_scatter_result(&mut self, var: &'e Var) -> u32 {
        let scatter = self.operand_on_top(0);
        let Entry { stage, region, control, .. } = self.graph.entries[scatter as usize];
        let number = self.push(var, [scatter, NONE, NONE], stage, region, NONE);
        let memory = if var.position() == ARRAY { self.graph.effects[control as usize].memory } else { NONE };
        self.mark_result(number, memory);
        number
    }

    /// Completes the entry of a loop's result, if the loop writes memory.
    pub(super) fn complete_loop_result(&mut self, number: u32) {
        let Entry { var, operands, .. } = self.graph.entries[number as usize];
        let control = self.graph.entries[operands[0] as usize].control;
        let shared = &self.graph.controls[control as usize].shared;
        if !shared.is_empty() && !local::is_local(var) {
            let found = shared.iter().find(|shared| shared.position == var.position());
            self.mark_result(number, found.map_or(NONE, |shared| shared.memory));
        }
    }

    /// Marks the result of a node that runs only once: as an array in memory, or with the kernels that can use it.
    fn mark_result(&mut self, number: u32, memory: u32) {
        let entry = &mut self.graph.entries[number as usize];
        entry.memory = memory;
        let is_outside = entry.region == RegionId::NONE;
        entry.is_root = is_outside && memory != NONE;
        // Kernels of any width use a value of width 1; each of them would run the node that it comes from.
        entry.is_later = is_outside && (memory != NONE || entry.var.lanes() == 1);
    }

    /// Assigns memory to the parameter of a state in memory.
    pub(super) fn mark_param(&mut self, number: u32) {
        let memory = self.add_memory(Memory::Same(NONE));
        self.graph.entries[number as usize].memory = memory;
    }

    /// Returns the states of a loop that are in memory, and the first stage in which the loop can write to them.
    pub(super) fn shared_of(&mut self, var: &'e Var, payload: &'e LoopPayload) -> (Vec<Shared>, u32) {
        let mut ready = 0;
        let mut shared = Vec::new();
        for (position, state) in payload.states.iter().enumerate() {
            let Some(next) = state.next.as_ref().filter(|_| state.is_memory && self.is_live(var, position)) else {
                continue;
            };
            let place = self.place_of(&state.init);
            let param = self.graph.entries[self.number(&state.param) as usize].memory;
            self.graph.memories[param as usize] = Memory::Same(place.memory);
            ready = ready.max(place.ready);
            let next = self.number(next);
            shared.push(Shared { position, memory: place.memory, previous: place.previous, next });
        }
        (shared, ready)
    }
}

/// The memory of an array that is overwritten.
struct Place {
    memory: u32,
    /// The first stage in which it can be overwritten.
    ready: u32,
    /// The entry of the array, if the same kernel has written it.
    previous: u32,
}

/// Takes the lock, for a fork.
pub(super) fn hold(held: &mut Vec<jit_runtime::fork::Held>) {
    // It may be held while kernels are compiled, and protects only an order: a fork does not wait for it.
    fork::renew_mutex(held, &ALONE);
}
