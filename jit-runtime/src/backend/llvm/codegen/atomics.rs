//! Reducing scatters: several lanes, and several threads, may combine into one element.
//!
//! Each active lane updates its element by an atomic operation, in a loop over the set bits of the mask. Where all lanes
//! share the index they are combined in registers first, and one atomic operation follows.

use inkwell::llvm_sys::LLVMAtomicRMWBinOp;
use inkwell::llvm_sys::LLVMAtomicRMWBinOp::*;
use inkwell::llvm_sys::LLVMIntPredicate::LLVMIntNE;

use super::{Codegen, Packets};
use crate::backend::llvm::emit::{Conversion, Raw};
use crate::ir::{ParamId, ReduceOp, Type, Value};

impl Codegen<'_> {
    pub(super) fn scatter_reduce(
        &mut self,
        op: ReduceOp,
        buffer: ParamId,
        index: Value,
        value: Value,
        lanes: Option<Packets>,
    ) {
        let ty = self.kernel.param(buffer).ty();
        let values = self.vectors(value);
        if self.analysis.shape(index).is_scalar() {
            return self.reduce_into_shared(op, buffer, index, &values, lanes.as_ref());
        }
        let indices = self.vectors(index);
        for packet in 0..self.packets {
            let all = self.emit.all_ones(self.emit.vector(self.emit.int(1), self.lanes));
            let mask = lanes.as_ref().map_or(all, |lanes| lanes[packet]);
            let addresses = self.lane_addresses(buffer, self.ty(index), indices[packet]);
            let stored = self.stored_value(ty, values[packet], self.lanes);
            self.each_active_lane(mask, addresses, stored, |codegen, address, value| {
                codegen.atomic_update(op, ty, address, value);
            });
        }
    }

    /// All lanes combine into one element.
    fn reduce_into_shared(
        &mut self,
        op: ReduceOp,
        buffer: ParamId,
        index: Value,
        values: &Packets,
        lanes: Option<&Packets>,
    ) {
        let ty = self.kernel.param(buffer).ty();
        let identity = self.identity(op, ty, self.lanes);
        let kept = |packet: usize| match lanes {
            Some(lanes) => self.emit.select(lanes[packet], values[packet], identity),
            None => values[packet],
        };
        let kept: Packets = (0..self.packets).map(kept).collect();
        let total = self.combine_lanes(op, ty, &kept);
        let total = self.stored_value(ty, total, 1);
        let address = self.element_address(buffer, self.wide_index(self.ty(index), self.scalar(index)));
        let Some(lanes) = lanes else { return self.atomic_update(op, ty, address, total) };
        let any = self.any(lanes);
        let [update, after] = ["update", "after"].map(|name| self.emit.new_block(name));
        self.emit.cond_br(any, update, after);
        self.emit.position_at_end(update);
        self.atomic_update(op, ty, address, total);
        self.emit.br(after);
        self.emit.position_at_end(after);
    }

    /// Runs code for each lane of a mask, with the lane's address and value.
    pub(super) fn each_active_lane(
        &mut self,
        mask: Raw,
        addresses: Raw,
        values: Raw,
        body: impl FnOnce(&mut Self, Raw, Raw),
    ) {
        // Vectors cannot be indexed by a variable in registers: they go through the stack.
        let (address_type, value_type) = (self.emit.type_of(addresses), self.emit.type_of(values));
        let address_slot = self.emit.alloca(address_type, 64);
        let value_slot = self.emit.alloca(value_type, 64);
        self.emit.store(addresses, address_slot, 64);
        self.emit.store(values, value_slot, 64);
        let bits = self.mask_bits(mask);
        let [lane_loop, lane_body, after] = ["lanes", "lane", "after"].map(|name| self.emit.new_block(name));
        let before = self.emit.block();
        self.emit.br(lane_loop);

        self.emit.position_at_end(lane_loop);
        let word = self.emit.int(32);
        let left = self.emit.phi(word);
        self.emit.add_incoming(left, bits, before);
        self.emit.cond_br(self.emit.icmp(LLVMIntNE, left, self.emit.zero(word)), lane_body, after);

        self.emit.position_at_end(lane_body);
        let lane = self.emit.intrinsic("llvm.cttz", &[word], &[left, self.emit.int_const(1, 1)]);
        let address_at = self.emit.address(self.emit.ptr(), address_slot, lane);
        let address = self.emit.load(self.emit.ptr(), address_at, 8);
        let element = self.emit.element_type(value_type);
        let value_at = self.emit.address(element, value_slot, lane);
        let value = self.emit.load(element, value_at, 1);
        body(self, address, value);
        let others = self.emit.and(left, self.emit.sub(left, self.emit.int_const(32, 1)));
        self.emit.add_incoming(left, others, self.emit.block());
        self.emit.br(lane_loop);
        self.emit.position_at_end(after);
    }

    /// A mask as the low bits of a 32-bit integer.
    fn mask_bits(&self, mask: Raw) -> Raw {
        let bits = self.emit.convert(Conversion::Bitcast, mask, self.emit.int(self.lanes));
        self.emit.convert(Conversion::ZExt, bits, self.emit.int(32))
    }

    /// Combines a value into memory, without a gap between reading and writing.
    fn atomic_update(&mut self, op: ReduceOp, ty: Type, address: Raw, value: Raw) {
        if let Some(instruction) = atomic_instruction(op, ty) {
            self.emit.atomic(instruction, address, value);
            return;
        }
        let word = self.emit.int(ty.size_bytes() as u32 * 8);
        let register = self.emit.register_type(ty);
        let seen_first = self.emit.atomic_load(word, address, ty.size_bytes());
        let before = self.emit.block();
        let [retry, after] = ["retry", "exchanged"].map(|name| self.emit.new_block(name));
        self.emit.br(retry);
        self.emit.position_at_end(retry);
        let seen = self.emit.phi(word);
        self.emit.add_incoming(seen, seen_first, before);
        let old = self.emit.convert(Conversion::Bitcast, seen, register);
        let new = self.combine(op, ty, old, value, 1);
        let new = self.emit.convert(Conversion::Bitcast, new, word);
        let (seen_now, exchanged) = self.emit.compare_exchange(address, seen, new);
        self.emit.add_incoming(seen, seen_now, self.emit.block());
        self.emit.cond_br(exchanged, after, retry);
        self.emit.position_at_end(after);
    }
}

/// The instruction that does it; floats and products need a loop.
fn atomic_instruction(op: ReduceOp, ty: Type) -> Option<LLVMAtomicRMWBinOp> {
    if ty.is_float() {
        return None;
    }
    Some(match (op, ty.is_signed_integer()) {
        (ReduceOp::Add, _) => LLVMAtomicRMWBinOpAdd,
        (ReduceOp::Mul, _) => return None,
        (ReduceOp::Min, true) => LLVMAtomicRMWBinOpMin,
        (ReduceOp::Max, true) => LLVMAtomicRMWBinOpMax,
        (ReduceOp::Min, false) => LLVMAtomicRMWBinOpUMin,
        (ReduceOp::Max, false) => LLVMAtomicRMWBinOpUMax,
        (ReduceOp::And, _) => LLVMAtomicRMWBinOpAnd,
        (ReduceOp::Or, _) => LLVMAtomicRMWBinOpOr,
    })
}
