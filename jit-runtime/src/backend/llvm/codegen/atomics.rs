//! Reducing scatters and operations that return the old element: several lanes, and several threads, may change one
//! element.
//!
//! Each active lane updates its element by an atomic operation, in a loop over the set bits of the mask. If all lanes
//! share the index, they are combined in registers first, and one atomic operation follows; for sums of integers even
//! if each lane needs the old value. Targets that no other thread accesses are updated by plain operations: `private`.

use inkwell::llvm_sys::LLVMAtomicRMWBinOp;
use inkwell::llvm_sys::LLVMAtomicRMWBinOp::*;
use inkwell::llvm_sys::LLVMIntPredicate::LLVMIntNE;

use smallvec::SmallVec;

use super::{Codegen, Packets};
use crate::backend::llvm::emit::{Conversion, Raw, RawType};
use crate::ir::{AtomicOp, ParamId, ReduceOp, Type, Value};

/// The operands or results of an operation on one lane.
pub(super) type Results = SmallVec<[Raw; 3]>;

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
        if self.private[buffer.index()] {
            return self.scatter_privately(op, buffer, index, value, lanes.as_ref());
        }
        self.each_packet(buffer, index, lanes.as_ref(), |codegen, packet, mask, addresses| {
            let stored = codegen.stored_value(ty, values[packet], codegen.lanes);
            codegen.each_active_lane(mask, &[addresses, stored], &[], |codegen, parts| {
                codegen.update(AtomicOp::Reduce(op), buffer, parts[0], parts[1]);
                Results::new()
            });
        });
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
        let index = self.wide_index(self.ty(index), self.scalar(index));
        let updates = self.is_updated(buffer, index, lanes);
        let copies_log2 = if self.private[buffer.index()] { self.options.scatters.copies_log2() } else { 0 };
        let first = self.emit.shl(index, self.emit.i64(copies_log2.into()));
        let address = self.element_address(buffer, first);
        self.update_if(updates, AtomicOp::Reduce(op), buffer, address, total);
    }

    /// Runs code for each lane of a mask, with the lane's part of some vectors. Returns a vector of each result, which
    /// is zero in the other lanes.
    pub(super) fn each_active_lane(
        &mut self,
        mask: Raw,
        inputs: &[Raw],
        results: &[RawType],
        body: impl FnOnce(&mut Self, &[Raw]) -> Results,
    ) -> Results {
        // Vectors in registers cannot be indexed by a variable: they go through the stack.
        let mut input_slots = Results::new();
        for &input in inputs {
            let slot = self.emit.alloca(self.emit.type_of(input), 64);
            self.emit.store(input, slot, 64);
            input_slots.push(slot);
        }
        let mut result_slots = Results::new();
        for &element in results {
            let vector = self.emit.vector(element, self.lanes);
            let slot = self.emit.alloca(vector, 64);
            self.emit.store(self.emit.zero(vector), slot, 64);
            result_slots.push(slot);
        }
        let bits = self.mask_bits(mask);
        let [lane_loop, lane_body, after] = ["lanes", "lane", "after"].map(|name| self.emit.new_block(name));
        let before = self.emit.block();
        self.emit.br(lane_loop);

        self.emit.position_at_end(lane_loop);
        let word = self.emit.int(self.mask_width());
        let left = self.emit.phi(word);
        self.emit.add_incoming(left, bits, before);
        self.emit.cond_br(self.emit.icmp(LLVMIntNE, left, self.emit.zero(word)), lane_body, after);

        self.emit.position_at_end(lane_body);
        let lane = self.emit.intrinsic("llvm.cttz", &[word], &[left, self.emit.int_const(1, 1)]);
        let load = |(&input, &slot): (&Raw, &Raw)| {
            let element = self.emit.element_type(self.emit.type_of(input));
            self.emit.load(element, self.emit.address(element, slot, lane), 1)
        };
        let parts: Results = inputs.iter().zip(&input_slots).map(load).collect();
        let outcomes = body(self, &parts);
        for ((&element, &slot), &outcome) in results.iter().zip(&result_slots).zip(&outcomes) {
            self.emit.store(outcome, self.emit.address(element, slot, lane), 1);
        }
        let others = self.emit.and(left, self.emit.sub(left, self.emit.int_const(self.mask_width(), 1)));
        self.emit.add_incoming(left, others, self.emit.block());
        self.emit.br(lane_loop);
        self.emit.position_at_end(after);
        let load =
            |(&element, &slot): (&RawType, &Raw)| self.emit.load(self.emit.vector(element, self.lanes), slot, 64);
        results.iter().zip(&result_slots).map(load).collect()
    }

    /// A mask as the low bits of an integer of [`Codegen::mask_width`] bits.
    pub(super) fn mask_bits(&self, mask: Raw) -> Raw {
        let bits = self.emit.convert(Conversion::Bitcast, mask, self.emit.int(self.lanes));
        let is_short = self.lanes < self.mask_width();
        if is_short { self.emit.convert(Conversion::ZExt, bits, self.emit.int(self.mask_width())) } else { bits }
    }

    /// The bits of an integer that holds the mask of a packet: those of a register for the smallest packets.
    pub(super) fn mask_width(&self) -> u32 {
        self.lanes.max(32)
    }

    /// Combines a value into memory. Returns the old value.
    fn update(&mut self, op: AtomicOp, buffer: ParamId, address: Raw, value: Raw) -> Raw {
        let ty = self.kernel.param(buffer).ty();
        match op {
            AtomicOp::Reduce(op) if self.private[buffer.index()] => self.plain_update(op, ty, address, value),
            op => self.atomic_update(op, ty, address, value),
        }
    }

    /// Combines a value into memory that no other thread accesses.
    pub(super) fn plain_update(&self, op: ReduceOp, ty: Type, address: Raw, value: Raw) -> Raw {
        let old = self.emit.load(self.emit.memory_type(ty), address, ty.size_bytes());
        // Bytes that are 0 or 1 combine like truth values.
        let combined_as = if ty == Type::Bool { Type::U8 } else { ty };
        let new = self.combine(op, combined_as, old, value, 1);
        self.emit.store(new, address, ty.size_bytes());
        old
    }

    /// Combines a value into memory in one indivisible step. Returns the old value.
    fn atomic_update(&mut self, op: AtomicOp, ty: Type, address: Raw, value: Raw) -> Raw {
        let op = match (atomic_instruction(op, ty), op) {
            (Some(instruction), _) => return self.emit.atomic(instruction, address, value),
            (None, AtomicOp::Reduce(op)) => op,
            (None, AtomicOp::Exchange) => unreachable!("there is an instruction that exchanges values of every type"),
        };
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
        old
    }

    // --- with results

    pub(super) fn atomic(
        &mut self,
        result: Value,
        op: AtomicOp,
        buffer: ParamId,
        index: Value,
        value: Value,
        mask: Option<Value>,
    ) {
        let (ty, lanes) = (self.kernel.param(buffer).ty(), self.lanes_of(mask));
        if op == AtomicOp::Reduce(ReduceOp::Add) && ty.is_integer() && self.analysis.shape(index).is_scalar() {
            return self.add_to_shared(result, buffer, index, value, lanes.as_ref());
        }
        let values = self.vectors(value);
        let update = |codegen: &mut Self, packet: usize, mask: Raw, addresses: Raw| {
            let value = codegen.stored_value(ty, values[packet], codegen.lanes);
            let element = codegen.emit.memory_type(ty);
            let olds = codegen.each_active_lane(mask, &[addresses, value], &[element], |codegen, parts| {
                Results::from_elem(codegen.update(op, buffer, parts[0], parts[1]), 1)
            });
            codegen.loaded_value(ty, olds[0], codegen.lanes)
        };
        let olds = self.each_packet(buffer, index, lanes.as_ref(), update);
        self.set_vectors(result, olds.into_iter().collect());
    }

    pub(super) fn compare_exchange(
        &mut self,
        result: Value,
        buffer: ParamId,
        index: Value,
        operands: [Value; 2],
        mask: Option<Value>,
    ) {
        let (ty, lanes) = (self.kernel.param(buffer).ty(), self.lanes_of(mask));
        let [expected, value] = operands.map(|operand| self.vectors(operand));
        let word = self.emit.int(ty.size_bytes() as u32 * 8);
        let flag = self.emit.int(8);
        let update = |codegen: &mut Self, packet: usize, mask: Raw, addresses: Raw| {
            let [expected, value] =
                [expected[packet], value[packet]].map(|value| codegen.stored_value(ty, value, codegen.lanes));
            let inputs = [addresses, expected, value];
            let found = codegen.each_active_lane(mask, &inputs, &[word, flag], |codegen, parts| {
                let [expected, value] =
                    [parts[1], parts[2]].map(|part| codegen.emit.convert(Conversion::Bitcast, part, word));
                let (old, exchanged) = codegen.emit.compare_exchange(parts[0], expected, value);
                Results::from_slice(&[old, codegen.emit.convert(Conversion::ZExt, exchanged, flag)])
            });
            let element = codegen.emit.vector(codegen.emit.memory_type(ty), codegen.lanes);
            let old = codegen.emit.convert(Conversion::Bitcast, found[0], element);
            let old = codegen.loaded_value(ty, old, codegen.lanes);
            (old, codegen.loaded_value(Type::Bool, found[1], codegen.lanes))
        };
        let (olds, exchanged) = self.each_packet(buffer, index, lanes.as_ref(), update).into_iter().unzip();
        self.set_vectors(result, olds);
        self.set_vectors(Value(result.0 + 1), exchanged);
    }

    /// Runs a closure for each packet, with its mask and the addresses of its elements.
    fn each_packet<T>(
        &mut self,
        buffer: ParamId,
        index: Value,
        lanes: Option<&Packets>,
        mut update: impl FnMut(&mut Self, usize, Raw, Raw) -> T,
    ) -> Vec<T> {
        let lanes = self.lanes_inside(buffer, index, lanes.cloned());
        let indices = self.vectors(index);
        let all = self.emit.all_ones(self.emit.vector(self.emit.int(1), self.lanes));
        let packets = self.packets;
        let packet = |packet: usize| {
            let addresses = self.lane_addresses(buffer, self.ty(index), indices[packet]);
            update(self, packet, lanes.as_ref().map_or(all, |lanes| lanes[packet]), addresses)
        };
        (0..packets).map(packet).collect()
    }

    /// All lanes add to one element. Each receives the result of the lanes before it, as if they ran one after another.
    fn add_to_shared(&mut self, result: Value, buffer: ParamId, index: Value, value: Value, lanes: Option<&Packets>) {
        let ty = self.kernel.param(buffer).ty();
        let values = self.vectors(value);
        let zero = self.emit.bits_constant(ty, self.lanes, 0);
        let mut total = self.emit.bits_constant(ty, 1, 0);
        let mut before = Packets::new();
        for packet in 0..self.packets {
            let kept = lanes.map_or(values[packet], |lanes| self.emit.select(lanes[packet], values[packet], zero));
            let mut sums = kept;
            for distance in (0..self.lanes.ilog2()).map(|log| 1 << log) {
                sums = self.emit.add(sums, self.emit.shift_lanes(sums, self.lanes, distance));
            }
            let earlier = self.emit.sub(sums, kept);
            before.push(self.emit.add(earlier, self.emit.splat(total, self.lanes)));
            let last = self.emit.extract_element(sums, self.emit.i64(u64::from(self.lanes) - 1));
            total = self.emit.add(total, last);
        }
        let index = self.wide_index(self.ty(index), self.scalar(index));
        let (updates, address) = (self.is_updated(buffer, index, lanes), self.element_address(buffer, index));
        let old = self.update_if(updates, AtomicOp::Reduce(ReduceOp::Add), buffer, address, total);
        let old = self.emit.splat(old, self.lanes);
        let found = |packet: usize| {
            let found = self.emit.select(updates, self.emit.add(old, before[packet]), zero);
            lanes.map_or(found, |lanes| self.emit.select(lanes[packet], found, zero))
        };
        let found = (0..self.packets).map(found).collect();
        self.set_vectors(result, found);
    }

    /// Whether a shared element, at an index of 64 bits, is changed: it exists, and some lane takes part.
    fn is_updated(&self, buffer: ParamId, index: Raw, lanes: Option<&Packets>) -> Raw {
        let is_inside = self.is_inside(buffer, index);
        lanes.map_or(is_inside, |lanes| self.emit.and(is_inside, self.any(lanes)))
    }

    /// Combines a value into one element if a condition holds. Returns the old value, or zero.
    fn update_if(&mut self, condition: Raw, op: AtomicOp, buffer: ParamId, address: Raw, value: Raw) -> Raw {
        let [update, after] = ["update", "after"].map(|name| self.emit.new_block(name));
        let before = self.emit.block();
        self.emit.cond_br(condition, update, after);
        self.emit.position_at_end(update);
        let old = self.update(op, buffer, address, value);
        let updated = self.emit.block();
        self.emit.br(after);
        self.emit.position_at_end(after);
        self.emit.merge(&[(old, updated), (self.emit.zero(self.emit.type_of(old)), before)])
    }
}

/// The instruction for the operation; sums and extremes of floats and products need a loop.
fn atomic_instruction(op: AtomicOp, ty: Type) -> Option<LLVMAtomicRMWBinOp> {
    let AtomicOp::Reduce(op) = op else { return Some(LLVMAtomicRMWBinOpXchg) };
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
