//! Reductions over lanes: one running vector for each packet of the group, combined at the end of the range.

use super::{Codegen, Packets};
use crate::backend::llvm::emit::{Block, Raw};
use crate::ir::{Op, ParamId, REDUCE_CHUNK, ReduceOp, TOP, Type, Value, scalar};

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

    /// Every reduction begins with its identity.
    pub(super) fn start_accumulators(&mut self) {
        let identity = |(op, _, ty)| self.identity(op, Self::accumulator_type(ty), self.lanes);
        let identities: Vec<Raw> = self.reductions().into_iter().map(identity).collect();
        self.accumulators = identities.into_iter().map(|identity| Packets::from_elem(identity, self.packets)).collect();
    }

    /// Phis for the running results, which they become.
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

    /// The running results flow into phis.
    pub(super) fn add_accumulators(&self, phis: &[Packets], from: Block) {
        for (phi, &value) in phis.iter().flatten().zip(self.accumulators.iter().flatten()) {
            self.emit.add_incoming(*phi, value, from);
        }
    }

    /// Takes one group of lanes into the running result.
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
    }

    /// Writes the results of the chunk that begins at a lane.
    pub(super) fn store_accumulators(&mut self, start: Raw) {
        for (position, (op, buffer, ty)) in self.reductions().into_iter().enumerate() {
            let accumulators = self.accumulators[position].clone();
            let total = self.combine_lanes(op, Self::accumulator_type(ty), &accumulators);
            let total = self.stored_value(ty, self.narrow(ty, total, 1), 1);
            let chunk = self.emit.lshr(start, self.emit.i64(u64::from(REDUCE_CHUNK.trailing_zeros())));
            let address = self.emit.address(self.emit.memory_type(ty), self.pointers[buffer.index()], chunk);
            self.emit.store(total, address, ty.size_bytes());
        }
    }

    /// Two values or vectors become one.
    pub(super) fn combine(&self, op: ReduceOp, ty: Type, a: Raw, b: Raw, lanes: u32) -> Raw {
        self.binary(op.as_binary(), ty, a, b, lanes, None)
    }

    /// All lanes of all packets become one value, halving the vector each time.
    pub(super) fn combine_lanes(&self, op: ReduceOp, ty: Type, packets: &Packets) -> Raw {
        let mut packets = packets.clone();
        while packets.len() > 1 {
            packets = packets.chunks(2).map(|pair| self.combine(op, ty, pair[0], pair[1], self.lanes)).collect();
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

    /// The value that changes nothing.
    pub(super) fn identity(&self, op: ReduceOp, ty: Type, lanes: u32) -> Raw {
        self.emit.bits_constant(ty, lanes, scalar::identity(op, ty))
    }
}
