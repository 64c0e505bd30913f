//! Scatters: which memory they write, and which of their results must be computed with them.
//!
//! A scatter writes the memory of the array that it changes, in place, if nobody else holds that array. Otherwise, and if the
//! array is not in memory yet, an earlier kernel writes a copy. Scatters one after another are kernels one after another,
//! but for those that combine by the same operation over the same lanes, whose order does not matter.
//!
//! A kernel that has written in place cannot be run again. So whatever is held of a scatter's results is computed with it.

use jit_runtime::ir::ReduceOp;
use parking_lot::Mutex;
use rustc_hash::FxHashSet;

use super::order::{NONE, Walk};
use crate::trace::Var;
use crate::trace::detach::Edges;
use crate::trace::effect::{ARRAY, ScatterExtra};
use crate::trace::node::{Extra, flag};
use crate::trace::op::Op;
use crate::trace::region::RegionId;

/// A scatter of a kernel.
pub(super) struct Effect<'e> {
    pub(super) extra: &'e ScatterExtra,
    pub(super) memory: u32,
    /// The scatter's array before, if it is written by the same kernel.
    previous: u32,
    pub(super) index: u32,
    pub(super) value: u32,
    pub(super) mask: u32,
}

impl Effect<'_> {
    /// The entries that the scatter uses as values of the lane or must come after.
    pub(super) fn used(&self) -> impl Iterator<Item = u32> {
        [self.previous, self.index, self.value, self.mask].into_iter().filter(|&entry| entry != NONE)
    }
}

/// Memory that kernels write in place: where it comes from.
#[derive(Clone, Copy)]
pub(super) enum Memory {
    /// The elements of an evaluated array that nobody else holds, by its entry.
    Taken(u32),
    /// A copy that a kernel of this evaluation writes, by its entry.
    Copied(u32),
}

/// Held while a graph with something that can be run once only is evaluated.
static ALONE: Mutex<()> = Mutex::new(());

/// Calls a function while no other thread is in this one.
pub(super) fn alone<R>(evaluate: impl FnOnce() -> R) -> R {
    let _guard = ALONE.lock();
    evaluate()
}

/// Results that must be computed together with what is wanted, kept alive meanwhile.
#[derive(Default)]
pub(super) struct Held {
    vars: Vec<Var>,
    addresses: FxHashSet<usize>,
}

impl Held {
    /// Searches the graph behind some nodes for whatever can be run once only, and takes hold of all results of that.
    pub(super) fn search<'e>(edges: &'e Edges, wanted: &[&'e Var]) -> Held {
        let mut held = Held::default();
        let mut seen = FxHashSet::default();
        let mut pending: Vec<&'e Var> = wanted.to_vec();
        while let Some(var) = pending.pop() {
            let is_behind = var.flags() & flag::EFFECT != 0 && !var.is_evaluated();
            if !is_behind || !seen.insert(var.address()) {
                continue;
            }
            pending.extend((0..var.op().slots()).filter_map(|slot| edges.operand(var, slot)));
            let Some(extra) = var.extra() else { continue };
            extra.for_each_var(|var| pending.push(var));
            extra.held_results().into_iter().for_each(|result| held.add(result));
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

    /// Whether nobody but one node holds an array, which may then be overwritten.
    fn is_sole(&self, var: &Var) -> bool {
        var.count() == 1 + u32::from(self.addresses.contains(&var.address().addr().get()))
    }
}

impl<'e> Walk<'e> {
    /// Makes the entry of a scatter whose operands have theirs.
    pub(super) fn finish_scatter(&mut self, var: &'e Var) -> u32 {
        let Some(Extra::Scatter(extra)) = var.extra() else { return NONE };
        let [index, value] = [&extra.index, &extra.value].map(|operand| self.number(operand));
        let mask = extra.mask.as_ref().map_or(NONE, |mask| self.number(mask));
        let mut region = if var.is_pinned() { var.region() } else { RegionId::NONE };
        let mut stage = 0;
        for number in [index, value, mask].into_iter().filter(|&number| number != NONE) {
            stage = stage.max(self.stage_after(number));
            region = region.max(self.graph.entries[number as usize].region);
        }
        let (memory, ready) = self.memory_of(&extra.target);
        let target = self.number(&extra.target);
        let previous = match self.joined(target, memory, extra.reduce, var.width()) {
            Some(before) if before >= stage => {
                stage = before;
                target
            }
            _ => {
                stage = stage.max(ready);
                NONE
            }
        };
        let effect = self.graph.effects.len() as u32;
        self.graph.effects.push(Effect { extra, memory, previous, index, value, mask });
        self.push(var, [NONE; 3], stage, region, effect)
    }

    /// The stage of the kernel that writes an array, if a scatter may join it there: both combine by the same operation,
    /// over as many lanes.
    fn joined(&self, target: u32, memory: u32, reduce: Option<ReduceOp>, lanes: usize) -> Option<u32> {
        let entry = &self.graph.entries[target as usize];
        if entry.op != Op::ScatterResult || entry.is_evaluated || entry.memory != memory {
            return None;
        }
        let scatter = &self.graph.entries[entry.operands[0] as usize];
        let before = self.graph.effects[scatter.control as usize].extra.reduce;
        (before.is_some() && before == reduce && scatter.var.width() == lanes).then_some(entry.stage)
    }

    /// The memory in which an array can be overwritten, and the first stage in which it can be.
    fn memory_of(&mut self, array: &'e Var) -> (u32, u32) {
        let number = self.number(array);
        let entry = self.graph.entries[number as usize];
        let is_sole = self.held.is_sole(array);
        if is_sole && entry.memory != NONE {
            return (entry.memory, entry.stage + 1);
        }
        if is_sole && array.has_data() {
            return (self.add_memory(Memory::Taken(number)), 0);
        }
        let stage = self.stage_after(number);
        let copy = self.push_copy(array, number, stage);
        (self.add_memory(Memory::Copied(copy)), stage + 1)
    }

    fn add_memory(&mut self, memory: Memory) -> u32 {
        self.graph.memories.push(memory);
        self.graph.memories.len() as u32 - 1
    }

    /// Makes the entry of a scatter's result.
    pub(super) fn finish_scatter_result(&mut self, var: &'e Var) -> u32 {
        let scatter = self.operand_on_top(0);
        let entry = self.graph.entries[scatter as usize];
        let number = self.push(var, [scatter, NONE, NONE], entry.stage, entry.region, NONE);
        let memory = self.graph.effects[entry.control as usize].memory;
        let result = &mut self.graph.entries[number as usize];
        if var.position() == ARRAY {
            (result.memory, result.is_root, result.is_later) = (memory, true, true);
        }
        number
    }
}
