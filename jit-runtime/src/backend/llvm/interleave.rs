//! The number of packets that the bodies of a kernel process at once.
//!
//! In a short loop whose iterations depend on one another, one packet leaves most of the processor idle; two to four
//! independent packets fill it. The limit is the register file: more packets than fit would spill in every iteration.
//! The estimate counts, for each innermost loop, the maximum number of live vectors.

use super::analysis::{Analysis, Shape};
use super::codegen::{TWO_BODIES_LIMIT, local_bytes};
use super::parallelism;
use super::within_rows::WithinRows;
use crate::backend::target::Target;
use crate::backend::{CodeOptions, Effort};
use crate::ir::{
    BinaryOp, Inst, Kernel, Op, REDUCE_ROW, ReduceOp, RegionId, TOP, Type, Value, for_each_nested_operand,
};

/// The maximum number of packets. A group also has at most as many lanes as a row of running results.
pub(super) const MAX_PACKETS: usize = 4;

/// The number of instructions after interleaving beyond which code size costs more than interleaving gains.
const MAX_INSTRUCTIONS: usize = 512;

/// The number of bytes of local memory beyond which more packets would only evict one another from the nearest cache.
const MAX_LOCAL_BYTES: usize = 32 << 10;

/// The number of packets for straight-line code. The processor itself looks ahead to the next packets, but not far
/// enough. With two packets, lists of 4 to 209 operations on arrays in the cache took 0.6 to 1.0 of the time, although
/// some registers are spilled. With streaming stores, long lists took 1.7 times as long.
const STRAIGHT_PACKETS: usize = 2;

/// The number of operations up to which the processor itself finds those of the next packets.
const WINDOW: usize = 64;

/// The number of instructions of straight-line code after interleaving up to which it pays if chains of operations that
/// wait for one another take most of the time. It is better code that is generated in the background.
const MAX_CHAINED_INSTRUCTIONS: usize = 32_000;

/// The parallelism up to which so many packets fill the processor: it executes about two operations in each cycle, and
/// each takes about four. A list of 7,000 operations with a parallelism of 3.5 takes 0.65 of the time with two packets,
/// and 0.52 with four.
const PARALLELISM: [(usize, f64); 2] = [(4, 4.0), (2, 8.0)];

/// The number of packets for a kernel.
pub(super) fn choose(kernel: &Kernel, target: &Target, options: CodeOptions) -> usize {
    if let Some(packets) = target.interleave {
        return packets;
    }
    let max_packets = MAX_PACKETS.min(REDUCE_ROW / target.lanes);
    let analysis = Analysis::of_packets(kernel, max_packets, target.lanes);
    let repeats = kernel
        .region(TOP)
        .insts
        .iter()
        .zip(&analysis.hoisted)
        .any(|(inst, &hoisted)| !hoisted && (matches!(inst.op, Op::Reduce { .. }) || inst.op.has_regions()));
    let mut estimate = Estimate { kernel, analysis: &analysis, vectors: 0, masks: 0, limit: max_packets };
    if !repeats {
        if let Some(packets) = estimate.within_rows(target, options) {
            return packets;
        }
        let is_worth_more = options.effort == Effort::Thorough && !options.streaming_stores;
        return if is_worth_more { estimate.straight() } else { 1 };
    }
    estimate.region(TOP);
    let fits = |packets: usize| {
        packets <= estimate.limit
            && local_bytes(kernel, packets * target.lanes) <= MAX_LOCAL_BYTES
            && packets * kernel.op_count() <= MAX_INSTRUCTIONS
            && packets * estimate.vectors <= target.registers() - 2
            && (!target.has_masks() || packets * estimate.masks <= 8)
    };
    let packets = [4, 2].into_iter().find(|&packets| fits(packets)).unwrap_or(1);
    let mut insts = kernel.regions.iter().flat_map(|region| &region.insts);
    if packets == 1 || !insts.any(|inst| matches!(inst.op, Op::Loop { .. })) {
        return packets;
    }
    let shared = |packets: &usize| shared_in_loops(kernel, *packets, target.lanes);
    // Of equals the last one is found, which has the most packets.
    [1, 2, 4].into_iter().filter(|&fewer| fewer <= packets).max_by_key(shared).unwrap_or(packets)
}

/// The number of loops that all lanes of a group leave at once, and of accesses that are no gathers for such groups.
/// Where the inner dimension of a matrix is small, a group of several packets has more than one row: the lanes of one
/// row read neighbours in each iteration, and those of several rows what is anywhere, unless rows are whole packets.
fn shared_in_loops(kernel: &Kernel, packets: usize, lanes: usize) -> usize {
    let analysis = Analysis::of_packets(kernel, packets, lanes);
    let is_shared = |inst: &&Inst| match inst.op {
        Op::Loop { condition, .. } => analysis.shape(kernel.region(condition).yields[0]).is_scalar(),
        Op::Gather { index, .. } => {
            analysis.shape(index) != Shape::Varying || analysis.is_known_in_packets(kernel, index)
        }
        _ => false,
    };
    kernel.regions.iter().flat_map(|region| &region.insts).filter(is_shared).count()
}

struct Estimate<'k> {
    kernel: &'k Kernel,
    analysis: &'k Analysis,
    /// The maximum number of live vectors in an innermost loop, or in the top region if it reduces.
    vectors: usize,
    masks: usize,
    limit: usize,
}

impl Estimate<'_> {
    /// The number of packets for straight-line code.
    fn straight(&self) -> usize {
        if self.shows_packets() {
            return 1;
        }
        let insts = &self.kernel.region(TOP).insts;
        let ops = self.kernel.op_count();
        let short = if STRAIGHT_PACKETS * ops <= MAX_INSTRUCTIONS { STRAIGHT_PACKETS } else { 1 };
        let limit = insts.iter().map(|inst| self.limit_of(inst)).min().unwrap_or(MAX_PACKETS).min(self.limit);
        short.max(self.for_chains(ops)).min(limit)
    }

    /// The number of packets that fills the processor while operations wait for one another.
    fn for_chains(&self, ops: usize) -> usize {
        if ops < WINDOW {
            return 1;
        }
        let parallelism = parallelism::average(self.kernel, self.analysis);
        let fits = |packets: usize| packets * ops <= MAX_CHAINED_INSTRUCTIONS;
        let found = PARALLELISM.into_iter().find(|&(packets, most)| parallelism <= most && fits(packets));
        found.map_or(1, |(packets, _)| packets)
    }

    /// The number of packets for code with scalars that are computed for each group within a row: many lanes share
    /// them.
    fn within_rows(&self, target: &Target, options: CodeOptions) -> Option<usize> {
        let most = if options.streaming_stores { STRAIGHT_PACKETS } else { MAX_PACKETS }.min(self.limit);
        let fits = |packets: &usize| *packets <= most && packets * self.kernel.op_count() <= TWO_BODIES_LIMIT;
        let packets = [4, 2].into_iter().find(fits).filter(|_| !self.shows_packets())?;
        let lanes = packets * target.lanes;
        WithinRows::of(self.kernel, &Analysis::new(self.kernel, lanes), lanes).map(|_| packets)
    }

    /// Whether other numbers of packets would change the grouping of float sums: better code must return the same bits.
    fn shows_packets(&self) -> bool {
        let sums = self.kernel.regions.iter().flat_map(|region| &region.insts).filter_map(|inst| match inst.op {
            Op::Scatter { reduce: Some(ReduceOp::Add | ReduceOp::Mul), value, index, .. } => {
                self.kernel.ty(value).is_float().then(|| self.analysis.is_shared_in_packets(index))
            }
            _ => None,
        });
        let (count, is_shared) = sums.fold((0, false), |(count, is_shared), scalar| (count + 1, is_shared || scalar));
        count > 1 || is_shared
    }

    fn region(&mut self, region: RegionId) {
        for inst in &self.kernel.region(region).insts {
            if region != TOP || inst.op.has_regions() {
                self.limit = self.limit.min(self.limit_of(inst));
            }
            inst.op.regions().for_each(|nested| self.region(nested));
            match &inst.op {
                Op::Loop { condition, body, .. } => self.body(&[*condition, *body], 1),
                Op::Reduce { .. } => self.body(&[TOP], 0),
                _ => {}
            }
        }
    }

    /// Operations whose bottleneck is not latency gain little from more packets.
    fn limit_of(&self, inst: &Inst) -> usize {
        if matches!(inst.op, Op::Switch { index, .. } if !self.analysis.shape(index).is_scalar()) {
            // Each packet would run the cases of the others.
            return 1;
        }
        if inst.values().all(|value| self.analysis.shape(value) != Shape::Varying) && inst.results > 0 {
            return MAX_PACKETS;
        }
        match inst.op {
            Op::Gather { index, .. } if self.analysis.is_known_in_packets(self.kernel, index) => MAX_PACKETS,
            Op::Gather { index, .. } if self.analysis.shape(index) == Shape::Varying => 2,
            Op::Scatter { .. } | Op::Atomic { .. } | Op::CompareExchange { .. } => 2,
            Op::LocalRead { index, .. } | Op::LocalWrite { index, .. } if !self.analysis.shape(index).is_scalar() => 2,

            Op::Binary(BinaryOp::Rem, a, _) if self.kernel.ty(a).is_float() => 1,
            Op::Binary(BinaryOp::Div | BinaryOp::Rem, a, b)
                if self.kernel.ty(a).is_integer() && self.analysis.constant(b).is_none() =>
            {
                2
            }
            _ => MAX_PACKETS,
        }
    }

    /// Counts live values in straight-line order over the regions of a loop.
    fn body(&mut self, regions: &[RegionId], active_masks: usize) {
        let insts: Vec<&Inst> = regions.iter().flat_map(|&region| &self.kernel.region(region).insts).collect();
        let mut last_use = vec![None; self.kernel.types.len()];
        for (position, inst) in insts.iter().enumerate() {
            for_each_nested_operand(self.kernel, &inst.op, &mut |value| last_use[value.index()] = Some(position));
        }
        let end = insts.len();
        for &region in regions {
            self.kernel.region(region).yields.iter().for_each(|value| last_use[value.index()] = Some(end));
        }
        let params = regions.iter().flat_map(|&region| &self.kernel.region(region).params);
        params.for_each(|param| last_use[param.index()] = Some(end));
        let mut is_inner = vec![false; self.kernel.types.len()];
        insts.iter().for_each(|inst| self.mark_defined(inst, &mut is_inner));
        self.sweep(&insts, &is_inner, &last_use, active_masks);
    }

    /// Marks the values that an instruction and its nested regions define.
    fn mark_defined(&self, inst: &Inst, is_inner: &mut [bool]) {
        inst.values().for_each(|value| is_inner[value.index()] = true);
        for region in inst.op.regions() {
            let region = self.kernel.region(region);
            region.params.iter().for_each(|param| is_inner[param.index()] = true);
            region.insts.iter().for_each(|inst| self.mark_defined(inst, is_inner));
        }
    }

    fn sweep(&mut self, insts: &[&Inst], is_inner: &[bool], last_use: &[Option<usize>], active_masks: usize) {
        // Values that are used but not defined inside are live throughout.
        let (mut vectors, mut masks) = (0, active_masks);
        for value in (0..last_use.len() as u32).map(Value) {
            if last_use[value.index()].is_some() && !is_inner[value.index()] {
                let (v, m) = self.weight(value);
                (vectors, masks) = (vectors + v, masks + m);
            }
        }
        let mut expiring = vec![(0, 0); insts.len() + 1];
        for (position, inst) in insts.iter().enumerate() {
            // A result may reuse the register of an operand that is not used again.
            (vectors, masks) = (vectors - expiring[position].0, masks - expiring[position].1);
            for value in inst.values() {
                let Some(last) = last_use[value.index()] else { continue };
                let (v, m) = self.weight(value);
                (vectors, masks) = (vectors + v, masks + m);
                expiring[last] = (expiring[last].0 + v, expiring[last].1 + m);
            }
            self.vectors = self.vectors.max(vectors);
            self.masks = self.masks.max(masks);
        }
    }

    /// The registers that one packet of a value needs: vectors and masks.
    fn weight(&self, value: Value) -> (usize, usize) {
        if self.analysis.constant(value).is_some() || self.analysis.shape(value).is_scalar() {
            return (0, 0);
        }
        match self.kernel.ty(value) {
            Type::Bool => (0, 1),
            ty => (ty.size_bytes().div_ceil(4), 0),
        }
    }
}
