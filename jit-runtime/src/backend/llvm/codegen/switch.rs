//! Branches with many sides.
//!
//! If all lanes agree, a switch is a jump. Otherwise the cases are tested one after another: each case that some active
//! lane takes runs once, under the mask of those lanes. With many cases, most are taken by no lane, so whole ranges of
//! them are tested first. A loop over the cases that occur would need fewer tests. But computations in the cases on
//! values from outside are invariant in such a loop, and LLVM would move them out.

use inkwell::llvm_sys::LLVMIntPredicate::{LLVMIntEQ, LLVMIntULT};

use super::{Codegen, Packets};
use crate::backend::llvm::analysis::Shape;
use crate::backend::llvm::emit::{Block, Raw};
use crate::ir::{Inst, RegionId, Value};

/// The number of cases up to which each is tested, and the minimum size of a range. Every test may be mispredicted if
/// lanes diverge strongly, so there are few levels.
const FEW: usize = 16;

/// The number of parts into which a large range of cases is divided.
const FAN_OUT: usize = 8;

/// A range of cases, and the results of the lanes so far.
struct Sides<'r> {
    regions: &'r [RegionId],
    /// The position of its first case in the switch.
    first: usize,
    /// The case of each lane.
    indices: &'r Packets,
}

impl Codegen<'_> {
    pub(super) fn switch(&mut self, inst: &Inst, index: Value, cases: &[RegionId], default: RegionId) {
        if self.analysis.shape(index).is_scalar() {
            self.uniform_switch(inst, index, cases, default);
        } else {
            self.divergent_switch(inst, index, cases, default);
        }
    }

    fn uniform_switch(&mut self, inst: &Inst, index: Value, cases: &[RegionId], default: RegionId) {
        let join = self.emit.new_block("join");
        let blocks = self.jump(self.scalar(index), cases.len());
        let shapes: Vec<Shape> = inst.values().map(|result| self.analysis.shape(result)).collect();
        let mut sides: Vec<(Vec<Packets>, Block)> = Vec::new();
        for (&block, &region) in blocks.iter().zip(cases.iter().chain([&default])) {
            self.emit.position_at_end(block);
            self.region(region);
            let mut parts = Vec::new();
            for (shape, &value) in shapes.iter().zip(&self.kernel.region(region).yields) {
                parts.push(self.parts(value, *shape != Shape::Varying));
            }
            sides.push((parts, self.emit.block()));
            self.emit.br(join);
        }
        self.emit.position_at_end(join);
        for (position, result) in inst.values().enumerate() {
            let merged = self.merge_sides(&sides, position);
            self.set_parts(result, shapes[position], &merged);
        }
    }

    /// Jumps to one of several new blocks, the last of which is for indices without a case.
    fn jump(&self, index: Raw, cases: usize) -> Vec<Block> {
        let blocks: Vec<Block> = (0..=cases).map(|_| self.emit.new_block("case")).collect();
        self.emit.switch(index, 32, &blocks[..cases], blocks[cases]);
        blocks
    }

    /// Merges a result from all blocks.
    fn merge_sides(&self, sides: &[(Vec<Packets>, Block)], position: usize) -> Packets {
        let parts = sides[0].0[position].len();
        let merge = |part: usize| {
            let incoming: Vec<(Raw, Block)> =
                sides.iter().map(|(values, end)| (values[position][part], *end)).collect();
            self.emit.merge(&incoming)
        };
        (0..parts).map(merge).collect()
    }

    fn divergent_switch(&mut self, inst: &Inst, index: Value, cases: &[RegionId], default: RegionId) {
        let outer = self.mask.clone();
        let indices = self.clamped(index, cases.len());
        let zeros = |value| Packets::from_elem(self.emit.bits_constant(self.ty(value), self.lanes, 0), self.packets);
        let mut results: Vec<Packets> = inst.values().map(zeros).collect();
        let regions: Vec<RegionId> = cases.iter().copied().chain([default]).collect();
        self.sides(&Sides { regions: &regions, first: 0, indices: &indices }, outer.as_ref(), &mut results);
        self.mask = outer;
        inst.values().zip(results).for_each(|(result, value)| self.set_vectors(result, value));
    }

    /// Runs those cases of a range that some active lane takes.
    fn sides(&mut self, sides: &Sides<'_>, outer: Option<&Packets>, results: &mut Vec<Packets>) {
        let count = sides.regions.len();
        let part_len = if count <= FEW { 1 } else { count.div_ceil(FAN_OUT).max(FEW) };
        let mut first = sides.first;
        for regions in sides.regions.chunks(part_len) {
            let part = Sides { regions, first, indices: sides.indices };
            first += regions.len();
            let lanes = self.lanes_in(&part, outer);
            let any = self.any(&lanes);
            let [taken, after] = ["case", "after"].map(|name| self.emit.new_block(name));
            let before = self.emit.block();
            self.emit.cond_br(any, taken, after);
            self.emit.position_at_end(taken);
            let mut inner = results.clone();
            match *regions {
                [region] => inner = self.run_case(region, lanes, &inner),
                _ => self.sides(&part, outer, &mut inner),
            }
            let end = self.emit.block();
            self.emit.br(after);
            self.emit.position_at_end(after);
            let merge = |(&new, &old): (&Raw, &Raw)| self.emit.merge(&[(new, end), (old, before)]);
            let merged = inner.iter().zip(&*results);
            *results = merged.map(|(new, old)| new.iter().zip(old).map(merge).collect()).collect();
        }
    }

    /// The active lanes whose case is in a range.
    fn lanes_in(&self, part: &Sides<'_>, outer: Option<&Packets>) -> Packets {
        let constant = |number: usize| self.emit.constant(self.emit.int(32), self.lanes, number as u64);
        let is_inside = |&index: &Raw| match part.regions.len() {
            1 => self.emit.icmp(LLVMIntEQ, index, constant(part.first)),
            count => self.emit.icmp(LLVMIntULT, self.emit.sub(index, constant(part.first)), constant(count)),
        };
        let inside = part.indices.iter().map(is_inside);
        match outer {
            None => inside.collect(),
            Some(outer) => inside.zip(outer).map(|(inside, &outer)| self.emit.and(inside, outer)).collect(),
        }
    }

    /// Runs a region for some lanes, and makes its yields their results.
    fn run_case(&mut self, region: RegionId, lanes: Packets, results: &[Packets]) -> Vec<Packets> {
        self.mask = Some(lanes.clone());
        self.region(region);
        let mut blended = Vec::new();
        for (&value, old) in self.kernel.region(region).yields.iter().zip(results) {
            let new = self.vectors(value);
            let select = |((&lanes, &new), &old)| self.emit.select(lanes, new, old);
            blended.push(lanes.iter().zip(&new).zip(old).map(select).collect());
        }
        blended
    }

    /// Indices, with those without a case replaced by the number of cases.
    fn clamped(&mut self, index: Value, cases: usize) -> Packets {
        let indices = self.vectors(index);
        let most = self.emit.constant(self.emit.int(32), self.lanes, cases as u64);
        let clamp = |&index: &Raw| self.emit.intrinsic("llvm.umin", &[self.emit.type_of(index)], &[index, most]);
        indices.iter().map(clamp).collect()
    }
}
