//! Reductions over lanes: a row of running results in vectors, combined at the end of the range.
//!
//! The length of the row is specified by the semantics ([`Op::Reduce`]). If it has more vectors than a group has
//! packets, groups rotate: each updates the vectors at the front of the list and moves them to the back. Which running
//! result an element of the list represents depends on where the range begins and on the number of groups. The row is
//! put in order in memory, once, at the end.

use inkwell::llvm_sys::LLVMIntPredicate::LLVMIntEQ;

use super::{Codegen, Packets};
use crate::backend::llvm::emit::{Block, Raw};
use crate::ir::{Op, ParamId, REDUCE_ROW, ReduceOp, TOP, Type, Value, scalar};

impl Codegen<'_> {
    /// The reductions of the kernel, in order.
    fn reductions(&self) -> Vec<(ReduceOp, ParamId, Type)> {
        let insts = &self.kernel.region(TOP).insts;
        let reduction = |op: &Op| match *op {
            Op::Reduce { op, buffer, value } => Some((op, buffer, self.ty(value))),
            _ => None,
        };
        insts.iter().filter_map(|inst| reduction(&inst.op)).collect()
    }

    /// Halves are accumulated in `f32` and rounded once.
    fn accumulator_type(ty: Type) -> Type {
        if matches!(ty, Type::F16 | Type::BF16) { Type::F32 } else { ty }
    }

    /// Initialises every reduction with its identity.
    pub(super) fn start_accumulators(&mut self) {
        let identity = |(op, _, ty)| self.identity(op, Self::accumulator_type(ty), self.lanes);
        let identities: Vec<Raw> = self.reductions().into_iter().map(identity).collect();
        let vectors = REDUCE_ROW / self.lanes as usize;
        self.accumulators = identities.into_iter().map(|identity| Packets::from_elem(identity, vectors)).collect();
    }

    /// Creates phis for the running results and replaces them by the phis.
    pub(super) fn accumulator_phis(&mut self, from: Block) -> Vec<Packets> {
        let phi = |&value: &Raw| {
            let phi = self.emit.phi(self.emit.type_of(value));
            self.emit.add_incoming(phi, value, from);
            phi
        };
        let phis: Vec<Packets> = self.accumulators.iter().map(|packets| packets.iter().map(phi).collect()).collect();
        self.accumulators.clone_from(&phis);
        phis
    }

    /// Adds the running results to phis.
    pub(super) fn add_accumulators(&self, phis: &[Packets], from: Block) {
        for (phi, &value) in phis.iter().flatten().zip(self.accumulators.iter().flatten()) {
            self.emit.add_incoming(*phi, value, from);
        }
    }

    /// Combines one group of lanes into the running result.
    pub(super) fn reduce(&mut self, position: usize, op: ReduceOp, value: Value) {
        let ty = self.ty(value);
        let vectors = self.vectors(value);
        for packet in 0..self.packets {
            let (wide, vector) = self.widen(ty, vectors[packet], self.lanes);
            let old = self.accumulators[position][packet];
            let new = self.combine(op, wide, old, vector, self.lanes);
            let mask = self.mask.as_ref().map(|mask| mask[packet]);
            self.accumulators[position][packet] = mask.map_or(new, |mask| self.emit.select(mask, new, old));
        }
        self.accumulators[position].rotate_left(self.packets);
    }

    /// Writes the results of the lanes starting at `start`; `next` would be the first lane of the next group.
    pub(super) fn store_accumulators(&mut self, start: Raw, next: Raw) {
        let reductions = self.reductions();
        if reductions.is_empty() {
            return;
        }
        self.put_accumulators_in_order(start, next);
        for (position, (op, buffer, ty)) in reductions.into_iter().enumerate() {
            let total = self.combine_lanes(op, Self::accumulator_type(ty), &self.accumulators[position]);
            let total = self.stored_value(ty, self.narrow(ty, total, 1), 1);
            self.emit.store(total, self.pointers[buffer.index()], ty.size_bytes());
        }
    }

    /// Rotates the running results so that they begin with that of the first lane, which they do after a chunk of whole
    /// rows. Then nothing goes through memory, which would take as long as some hundred lanes.
    fn put_accumulators_in_order(&mut self, start: Raw, next: Raw) {
        let [rotate, ordered] = ["rotate", "ordered"].map(|name| self.emit.new_block(name));
        // The list begins with the running result of lane `next`.
        let distance = self.emit.and(self.emit.sub(start, next), self.emit.i64(REDUCE_ROW as u64 - 1));
        let is_ordered = self.emit.icmp(LLVMIntEQ, distance, self.emit.i64(0));
        let before = self.emit.block();
        self.emit.cond_br(is_ordered, ordered, rotate);

        self.emit.position_at_end(rotate);
        let types = self.reductions().into_iter().map(|(_, _, ty)| Self::accumulator_type(ty));
        let rotated: Vec<Packets> =
            types.zip(&self.accumulators).map(|(ty, vectors)| self.rotated(ty, vectors, distance)).collect();
        let after = self.emit.block();
        self.emit.br(ordered);

        self.emit.position_at_end(ordered);
        for (vector, rotated) in self.accumulators.iter_mut().flatten().zip(rotated.into_iter().flatten()) {
            *vector = self.emit.merge(&[(*vector, before), (rotated, after)]);
        }
    }

    /// The elements of a list of vectors, rotated so that those before a position are at the end.
    fn rotated(&self, ty: Type, vectors: &Packets, position: Raw) -> Packets {
        let element = self.emit.memory_type(ty);
        let twice = self.emit.alloca(self.emit.vector(element, 2 * REDUCE_ROW as u32), 64);
        let at = |index: usize| self.emit.i64(index as u64 * u64::from(self.lanes));
        for (index, &vector) in vectors.iter().chain(vectors).enumerate() {
            let stored = self.stored_value(ty, vector, self.lanes);
            self.emit.store(stored, self.emit.address(element, twice, at(index)), ty.size_bytes());
        }
        let first = self.emit.address(element, twice, position);
        let load = |index: usize| {
            let address = self.emit.address(element, first, at(index));
            let loaded = self.emit.load(self.emit.vector(element, self.lanes), address, ty.size_bytes());
            self.loaded_value(ty, loaded, self.lanes)
        };
        (0..vectors.len()).map(load).collect()
    }

    /// Combines two values or vectors into one.
    pub(super) fn combine(&self, op: ReduceOp, ty: Type, a: Raw, b: Raw, lanes: u32) -> Raw {
        self.binary(op.as_binary(), ty, a, b, lanes, None)
    }

    /// Combines all lanes of all packets into one value: the upper half is combined into the lower one each time.
    pub(super) fn combine_lanes(&self, op: ReduceOp, ty: Type, packets: &Packets) -> Raw {
        let mut packets = packets.clone();
        while packets.len() > 1 {
            let (lower, upper) = packets.split_at(packets.len() / 2);
            let combine = |(&lower, &upper): (&Raw, &Raw)| self.combine(op, ty, lower, upper, self.lanes);
            packets = lower.iter().zip(upper).map(combine).collect();
        }
        let (mut vector, mut lanes) = (packets[0], self.lanes);
        while lanes > 1 {
            let half = u64::from(lanes / 2);
            let lower: Vec<u64> = (0..half).collect();
            let upper: Vec<u64> = (half..2 * half).collect();
            if half == 1 {
                let [first, second] = [0, 1].map(|lane| self.emit.extract_element(vector, self.emit.i64(lane)));
                return self.combine(op, ty, first, second, 1);
            }
            let (lower, upper) = (self.emit.shuffle(vector, &lower), self.emit.shuffle(vector, &upper));
            vector = self.combine(op, ty, lower, upper, half as u32);
            lanes /= 2;
        }
        vector
    }

    /// The identity of the operation.
    pub(super) fn identity(&self, op: ReduceOp, ty: Type, lanes: u32) -> Raw {
        self.emit.bits_constant(ty, lanes, scalar::identity(op, ty))
    }
}
