//! Remarks about kernels that do more than necessary, for profiles that run. Without one, nothing here runs.

use jit_runtime::Site;
use jit_runtime::fork::Held;
use jit_runtime::launch::native::Call;
use jit_runtime::stats::events::{self, Fault, Gathered, KernelId, Remark};

use parking_lot::Mutex;
use rustc_hash::FxHashSet;

use super::effect::Memory;
use super::group::{Group, is_leaf};
use super::order::{Graph, NONE};
use crate::capture::launches;
use crate::fork;
use crate::graph::cost::EXPENSIVE;
use crate::graph::op::Op;
use crate::graph::payload::Payload;
use crate::graph::weak::Weak;

/// The values that evaluations in profiles have computed and not stored.
static UNSTORED: Mutex<Option<FxHashSet<Weak>>> = Mutex::new(None);
/// Above this number, those that died are removed.
const MOST_UNSTORED: usize = 1 << 16;

/// Makes remarks about the kernels of an evaluation, one after another.
pub(super) struct Remarks<'g, 'e> {
    graph: &'g Graph<'e>,
    /// For each entry, whether an earlier kernel computes it.
    is_computed: Vec<bool>,
    gathered: Vec<Gathered>,
    /// The values that kernels of this evaluation compute and do not store.
    unstored: Vec<Weak>,
}

impl Drop for Remarks<'_, '_> {
    fn drop(&mut self) {
        let mut unstored = UNSTORED.lock();
        let unstored = unstored.get_or_insert_default();
        if unstored.len() + self.unstored.len() > MOST_UNSTORED {
            unstored.retain(|value| value.upgrade().is_some());
        }
        unstored.extend(self.unstored.drain(..));
    }
}

impl<'g, 'e> Remarks<'g, 'e> {
    /// Returns `None` if no profile runs.
    #[inline]
    pub(super) fn begin(graph: &'g Graph<'e>) -> Option<Remarks<'g, 'e>> {
        if !events::is_profiled() {
            return None;
        }
        let (is_computed, gathered) = (vec![false; graph.entries.len()], events::gathered());
        Some(Remarks { graph, is_computed, gathered, unstored: Vec::new() })
    }

    /// Makes remarks about the next kernel.
    #[cold]
    pub(super) fn make(&mut self, group: &Group, kernel: KernelId) {
        let graph = self.graph;
        let computed = || group.order.iter().copied().filter(|&number| !is_leaf(graph, group, number));
        let weight = |number: u32| graph.entries[number as usize].op.weight();
        let total: u32 = computed().map(weight).sum();
        self.recomputed(&computed, kernel, total);
        self.repeated(&computed, kernel, total);
        self.gathered(&computed, kernel, total);
        self.copied(group, kernel);
        self.moved(group, kernel);
        computed().for_each(|number| self.is_computed[number as usize] = true);
        let inner = computed().filter(|number| !group.roots.contains(number));
        self.unstored.extend(inner.map(|number| graph.entries[number as usize].var.downgrade()));
    }

    /// Remarks values that an earlier evaluation computed, too.
    fn repeated<I: Iterator<Item = u32>>(&self, computed: &impl Fn() -> I, kernel: KernelId, total: u32) {
        let unstored = UNSTORED.lock();
        let Some(unstored) = unstored.as_ref() else { return };
        let entry = |number: u32| &self.graph.entries[number as usize];
        let again: Vec<u32> = computed().filter(|&number| unstored.contains(&entry(number).var.downgrade())).collect();
        let weight = again.iter().map(|&number| entry(number).op.weight()).sum();
        if let Some(&last) = again.last().filter(|_| weight >= EXPENSIVE) {
            self.remark(Fault::Repeated, entry(last).var.site(), kernel, weight, total);
        }
    }

    /// Remarks values that an earlier kernel computes, too.
    fn recomputed<I: Iterator<Item = u32>>(&self, computed: &impl Fn() -> I, kernel: KernelId, total: u32) {
        let again = || computed().filter(|&number| self.is_computed[number as usize]);
        let weight = again().map(|number| self.graph.entries[number as usize].op.weight()).sum();
        // The last one depends on the others.
        if let Some(last) = again().last().filter(|_| weight >= EXPENSIVE) {
            self.remark(Fault::Recomputed, self.graph.entries[last as usize].var.site(), kernel, weight, total);
        }
    }

    /// Remarks expressions that are computed at the indices of several gathers.
    fn gathered<I: Iterator<Item = u32>>(&self, computed: &impl Fn() -> I, kernel: KernelId, total: u32) {
        let mut sources: Vec<Site> = Vec::new();
        for Gathered { source, .. } in &self.gathered {
            if !sources.contains(source) {
                sources.push(*source);
            }
        }
        for source in sources {
            let lines = || self.gathered.iter().filter(|gathered| gathered.source == source);
            let is_of_line = |number: &u32| {
                let entry = &self.graph.entries[*number as usize];
                entry.op != Op::Gather && lines().any(|gathered| gathered.site == entry.var.site())
            };
            let weight: u32 =
                computed().filter(is_of_line).map(|number| self.graph.entries[number as usize].op.weight()).sum();
            let once = lines().map(|gathered| gathered.weight).max().unwrap_or_default();
            // Once is necessary.
            let surplus = weight.saturating_sub(once);
            if surplus >= 2 * EXPENSIVE && surplus >= once {
                self.remark(Fault::Gathered, source, kernel, surplus, total);
            }
        }
    }

    /// Remarks copies of arrays in memory that are scattered to.
    fn copied(&self, group: &Group, kernel: KernelId) {
        let graph = self.graph;
        for &root in &group.roots {
            let entry = &graph.entries[root as usize];
            if !entry.is_copy || !graph.entries[entry.operands[0] as usize].is_evaluated || !entry.var.has_data() {
                continue;
            }
            let is_target = |memory| {
                matches!(graph.memories[graph.root_memory(memory) as usize],
                Memory::Copied(copy) if copy == root)
            };
            let writer = graph
                .entries
                .iter()
                .find(|entry| entry.op == Op::Scatter && is_target(graph.effects[entry.control as usize].memory));
            let site = writer.map_or(entry.var.site(), |writer| writer.var.site());
            self.remark(Fault::Copied, site, kernel, 1, group.roots.len() as u32);
        }
    }

    /// Remarks copies that move the elements of an operand of a product of matrices.
    fn moved(&self, group: &Group, kernel: KernelId) {
        let graph = self.graph;
        for &call in &graph.natives {
            let entry = &graph.entries[call as usize];
            let Some(Payload::LibraryCall(payload)) = entry.var.payload() else { continue };
            if !matches!(payload.call, Call::MatMul(_)) {
                continue;
            }
            for operand in entry.operands.into_iter().filter(|operand| *operand != NONE) {
                let moved = &graph.entries[operand as usize];
                let is_move = moved.op == Op::Gather && graph.entries[moved.operands[0] as usize].is_evaluated;
                if is_move && !moved.is_evaluated && group.roots.contains(&operand) {
                    self.remark(Fault::Moved, entry.var.site(), kernel, 1, group.roots.len() as u32);
                }
            }
        }
    }

    fn remark(&self, fault: Fault, site: Site, kernel: KernelId, part: u32, whole: u32) {
        let permille = (u64::from(part) * 1000 / u64::from(whole.max(1))).min(1000) as u32;
        events::note_remark(Remark { fault, site, kernel, permille, is_recorded: launches::is_recording() });
    }
}

/// Takes the lock, for a fork.
pub(super) fn hold(held: &mut Vec<Held>) {
    fork::hold_mutex(held, &UNSTORED);
}
