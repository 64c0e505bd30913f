//! Branches with many sides.
//!
//! Where all lanes agree, a switch is a jump. Otherwise there are two ways. Few cases are looked at one after the other:
//! each that some active lane wants runs under the mask of those lanes. With many cases most are wanted by no lane, so a
//! loop runs once for each case that occurs: it takes the case of the first lane that is left, jumps there, and is done
//! with all lanes of that case.

use inkwell::llvm_sys::LLVMIntPredicate::{LLVMIntEQ, LLVMIntUGE};

use super::{Codegen, Packets};
use crate::backend::llvm::analysis::Shape;
use crate::backend::llvm::emit::{Block, Conversion, Raw};
use crate::ir::{Inst, RegionId, Value};

/// Cases up to which each is looked at, rather than only those that occur.
const CHAIN_LIMIT: usize = 8;

impl Codegen<'_> {
    pub(super) fn switch(&mut self, inst: &Inst, index: Value, cases: &[RegionId], default: RegionId) {
        if self.analysis.shape(index).is_scalar() {
            self.uniform_switch(inst, index, cases, default);
        } else if cases.len() <= CHAIN_LIMIT {
            self.case_by_case(inst, index, cases, default);
        } else {
            self.only_cases_that_occur(inst, index, cases, default);
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

    /// Jumps to one of several new blocks, the last of which is for indices of no case.
    fn jump(&self, index: Raw, cases: usize) -> Vec<Block> {
        let blocks: Vec<Block> = (0..=cases).map(|_| self.emit.new_block("case")).collect();
        self.emit.switch(index, 32, &blocks[..cases], blocks[cases]);
        blocks
    }

    /// A result, from wherever it comes.
    fn merge_sides(&self, sides: &[(Vec<Packets>, Block)], position: usize) -> Packets {
        let parts = sides[0].0[position].len();
        let merge = |part: usize| {
            let incoming: Vec<(Raw, Block)> =
                sides.iter().map(|(values, end)| (values[position][part], *end)).collect();
            self.emit.merge(&incoming)
        };
        (0..parts).map(merge).collect()
    }

    /// Zeros for all lanes of each result.
    fn no_results(&self, inst: &Inst) -> Vec<Packets> {
        let zero = |value| Packets::from_elem(self.emit.bits_constant(self.ty(value), self.lanes, 0), self.packets);
        inst.values().map(zero).collect()
    }

    fn case_by_case(&mut self, inst: &Inst, index: Value, cases: &[RegionId], default: RegionId) {
        let outer = self.mask.clone();
        let indices = self.vectors(index);
        let mut results = self.no_results(inst);
        for (position, &region) in cases.iter().chain([&default]).enumerate() {
            let number = self.emit.constant(self.emit.int(32), self.lanes, position as u64);
            let predicate = if position == cases.len() { LLVMIntUGE } else { LLVMIntEQ };
            let mut lanes: Packets = indices.iter().map(|&index| self.emit.icmp(predicate, index, number)).collect();
            if let Some(outer) = &outer {
                lanes = lanes.iter().zip(outer).map(|(&lanes, &outer)| self.emit.and(lanes, outer)).collect();
            }
            let any = self.any(&lanes);
            let [taken, after] = ["case", "after"].map(|name| self.emit.new_block(name));
            let before = self.emit.block();
            self.emit.cond_br(any, taken, after);
            self.emit.position_at_end(taken);
            let blended = self.run_case(region, lanes, &results);
            let end = self.emit.block();
            self.emit.br(after);
            self.emit.position_at_end(after);
            let merge = |(&new, &old): (&Raw, &Raw)| self.emit.merge(&[(new, end), (old, before)]);
            let merged = blended.iter().zip(&results);
            results = merged.map(|(new, old)| new.iter().zip(old).map(merge).collect()).collect();
        }
        self.mask = outer;
        inst.values().zip(results).for_each(|(result, value)| self.set_vectors(result, value));
    }

    /// Runs a region for some lanes, which then have what it yields as their results.
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

    fn only_cases_that_occur(&mut self, inst: &Inst, index: Value, cases: &[RegionId], default: RegionId) {
        let outer = self.mask.clone();
        let active = outer.clone().unwrap_or_else(|| self.all_lanes());
        let indices = self.clamped(index, cases.len());
        let table = self.on_stack_as_one(&indices);
        let (before, head, join) = (self.emit.block(), self.emit.new_block("cases"), self.emit.new_block("join"));
        self.emit.br(head);
        self.emit.position_at_end(head);
        let pending = self.phis(&active, before);
        let results: Vec<Packets> = self.no_results(inst).iter().map(|zeros| self.phis(zeros, before)).collect();
        let case = self.first_pending(&pending, table);
        let number = self.emit.splat(case, self.lanes);
        let is_of_case = |(&index, &pending)| self.emit.and(pending, self.emit.icmp(LLVMIntEQ, index, number));
        let lanes: Packets = indices.iter().zip(&pending).map(is_of_case).collect();
        let left: Packets =
            pending.iter().zip(&lanes).map(|(&pending, &lanes)| self.emit.xor(pending, lanes)).collect();
        let goes_on = self.any(&left);
        let blocks = self.jump(case, cases.len());
        let mut sides = Vec::new();
        for (&block, &region) in blocks.iter().zip(cases.iter().chain([&default])) {
            self.emit.position_at_end(block);
            self.mask = Some(lanes.clone());
            self.region(region);
            let yields = &self.kernel.region(region).yields;
            let values: Vec<Packets> = yields.iter().map(|&value| self.vectors(value)).collect();
            sides.push((values, self.emit.block()));
            self.emit.br(join);
        }
        self.emit.position_at_end(join);
        let merged: Vec<Packets> = (0..results.len()).map(|position| self.merge_sides(&sides, position)).collect();
        let mut blended: Vec<Packets> = Vec::new();
        for (new, old) in merged.iter().zip(&results) {
            let select = |((&lanes, &new), &old)| self.emit.select(lanes, new, old);
            blended.push(lanes.iter().zip(new).zip(old).map(select).collect());
        }
        let leave = self.emit.new_block("leave");
        self.emit.cond_br(goes_on, head, leave);
        self.add_all_incoming(&pending, &left, join);
        results.iter().zip(&blended).for_each(|(phis, values)| self.add_all_incoming(phis, values, join));
        self.emit.position_at_end(leave);
        self.mask = outer;
        inst.values().zip(blended).for_each(|(result, value)| self.set_vectors(result, value));
    }

    /// Indices, all of those of no case being the number of cases.
    fn clamped(&mut self, index: Value, cases: usize) -> Packets {
        let indices = self.vectors(index);
        let most = self.emit.constant(self.emit.int(32), self.lanes, cases as u64);
        let clamp = |&index: &Raw| self.emit.intrinsic("llvm.umin", &[self.emit.type_of(index)], &[index, most]);
        indices.iter().map(clamp).collect()
    }

    /// Stack memory with the vectors of all packets, one after the other.
    fn on_stack_as_one(&self, packets: &Packets) -> Raw {
        let vector = self.emit.type_of(packets[0]);
        let memory = self.emit.alloca(self.emit.array(vector, packets.len() as u32), 64);
        for (position, &packet) in packets.iter().enumerate() {
            self.emit.store(packet, self.emit.address(vector, memory, self.emit.i64(position as u64)), 16);
        }
        memory
    }

    /// The element of a table of 32-bit integers at the first lane that is in the mask, which is not empty.
    fn first_pending(&self, mask: &Packets, table: Raw) -> Raw {
        let e = &self.emit;
        let word = e.int(64);
        let mut bits = e.i64(0);
        for (packet, &lanes) in mask.iter().enumerate() {
            let part = e.convert(Conversion::ZExt, e.convert(Conversion::Bitcast, lanes, e.int(self.lanes)), word);
            bits = e.or(bits, e.shl(part, e.i64(packet as u64 * u64::from(self.lanes))));
        }
        let lane = e.intrinsic("llvm.cttz", &[word], &[bits, e.int_const(1, 1)]);
        e.load(e.int(32), e.address(e.int(32), table, lane), 4)
    }
}
