//! Per-lane local memory.
//!
//! Elements of one index are consecutive for all lanes of a group. At a shared index they are read and written as
//! vectors, at others by a gather or scatter. After the last element there are two more for each lane. One is always
//! zero and is read instead of elements out of range; the other receives writes that are out of range or by inactive
//! lanes. So nothing needs a mask. Small elements take a whole word, which is the unit of gathers.
//!
//! Small local memory is on the stack, where LLVM may convert it to registers if all indices are constants. Large local
//! memory is passed by the caller of the function.

use inkwell::llvm_sys::LLVMIntPredicate::LLVMIntULT;

use super::{Codegen, Packets};
use crate::backend::llvm::emit::{Conversion, Raw, RawType};
use crate::ir::{Kernel, LocalId, LocalMemory, Op, Type, Value};

/// The number of bytes, for all lanes of a group, up to which local memory is on the stack.
const STACK_BYTES: usize = 16 << 10;

/// The bytes that the function of a kernel needs besides its stack.
pub(in crate::backend::llvm) fn scratch_bytes(kernel: &Kernel, group_lanes: usize) -> usize {
    let bytes = local_bytes(kernel, group_lanes);
    if bytes <= STACK_BYTES { 0 } else { bytes }
}

/// The bytes of the local memory of a group.
pub(in crate::backend::llvm) fn local_bytes(kernel: &Kernel, group_lanes: usize) -> usize {
    kernel.locals.iter().map(|&local| size_bytes(local, group_lanes)).sum()
}

/// A whole number of cache lines.
fn size_bytes(local: LocalMemory, group_lanes: usize) -> usize {
    let elements = local.len as usize + 2;
    (elements * group_lanes * local.ty.size_bytes().max(4)).next_multiple_of(64)
}

impl Codegen<'_> {
    /// Assigns addresses to local memory.
    pub(super) fn place_locals(&mut self) {
        let group_lanes = self.step() as usize;
        let on_stack = scratch_bytes(self.kernel, group_lanes) == 0;
        let mut offset = 0;
        for position in 0..self.kernel.locals.len() {
            let local = self.kernel.locals[position];
            let place = if on_stack {
                let elements = (local.len + 2) * group_lanes as u32;
                let array = self.emit.array(self.local_element(local.ty), elements);
                self.is_accessed(LocalId(position as u32)).then(|| self.emit.alloca(array, 64))
            } else {
                Some(self.emit.address(self.emit.int(8), self.emit.parameter(3), self.emit.i64(offset)))
            };
            self.locals.push(place);
            offset += size_bytes(local, group_lanes) as u64;
        }
    }

    fn is_accessed(&self, local: LocalId) -> bool {
        let accesses =
            |op: &Op| matches!(*op, Op::LocalRead { local: l, .. } | Op::LocalWrite { local: l, .. } if l == local);
        self.kernel.regions.iter().flat_map(|region| &region.insts).any(|inst| accesses(&inst.op))
    }

    /// Clears local memory: each group of lanes begins with zeros.
    pub(super) fn clear_locals(&self) {
        for (local, place) in self.kernel.locals.iter().zip(&self.locals) {
            let Some(place) = *place else { continue };
            let elements = (u64::from(local.len) + 1) * self.step();
            let bytes = elements * local.ty.size_bytes().max(4) as u64;
            self.emit.clear(place, bytes, 64);
        }
    }

    /// The type of an element in memory.
    fn local_element(&self, ty: Type) -> RawType {
        if ty.size_bytes() < 4 { self.emit.int(32) } else { self.emit.memory_type(ty) }
    }

    /// Converts a loaded value to its register form.
    fn element_read(&self, ty: Type, value: Raw) -> Raw {
        let is_small = ty.size_bytes() < 4;
        let register = self.emit.vector(self.emit.register_type(ty), self.lanes);
        if is_small { self.emit.convert(Conversion::Trunc, value, register) } else { value }
    }

    fn element_written(&self, ty: Type, value: Raw) -> Raw {
        let is_small = ty.size_bytes() < 4;
        let word = self.emit.vector(self.emit.int(32), self.lanes);
        if is_small { self.emit.convert(Conversion::ZExt, value, word) } else { value }
    }

    pub(super) fn local_read(&mut self, result: Value, local: LocalId, index: Value) {
        let ty = self.kernel.local(local).ty;
        let vector = self.emit.vector(self.local_element(ty), self.lanes);
        let values: Packets = if self.analysis.shape(index).is_scalar() {
            let row = self.shared_row(local, index, 0);
            let addresses = self.row_packets(local, row);
            addresses.iter().map(|&address| self.emit.load(vector, address, ty.size_bytes().max(4))).collect()
        } else {
            let addresses = self.lane_rows(local, index, 0, None);
            let mask = self.emit.all_ones(self.emit.vector(self.emit.int(1), self.lanes));
            let overloads = [vector, self.emit.type_of(addresses[0])];
            let gather = |&addresses: &Raw| {
                let arguments = [addresses, mask, self.emit.zero(vector)];
                let call = self.emit.intrinsic("llvm.masked.gather", &overloads, &arguments);
                self.emit.set_argument_alignment(call, 0, ty.size_bytes().max(4));
                call
            };
            addresses.iter().map(gather).collect()
        };
        let values = values.iter().map(|&value| self.element_read(ty, value)).collect();
        self.set_vectors(result, values);
    }

    pub(super) fn local_write(&mut self, local: LocalId, index: Value, value: Value) {
        let ty = self.kernel.local(local).ty;
        let alignment = ty.size_bytes().max(4);
        let values: Packets = self.vectors(value).iter().map(|&value| self.element_written(ty, value)).collect();
        let mask = self.mask.clone();
        if self.analysis.shape(index).is_scalar() {
            let row = self.shared_row(local, index, 1);
            let addresses = self.row_packets(local, row);
            for (packet, (&address, &new)) in addresses.iter().zip(&values).enumerate() {
                // A blend rather than a masked store: values that are soon read back are forwarded, and LLVM can keep
                // them in registers.
                let blended = match &mask {
                    None => new,
                    Some(mask) => {
                        let old = self.emit.load(self.emit.type_of(new), address, alignment);
                        self.emit.select(mask[packet], new, old)
                    }
                };
                self.emit.store(blended, address, alignment);
            }
            return;
        }
        let addresses = self.lane_rows(local, index, 1, mask.as_ref());
        let all = self.emit.all_ones(self.emit.vector(self.emit.int(1), self.lanes));
        for (&addresses, &value) in addresses.iter().zip(&values) {
            let overloads = [self.emit.type_of(value), self.emit.type_of(addresses)];
            let call = self.emit.intrinsic("llvm.masked.scatter", &overloads, &[value, addresses, all]);
            self.emit.set_argument_alignment(call, 1, alignment);
        }
    }

    fn place(&self, local: LocalId) -> Raw {
        self.locals[local.index()].expect("memory that is accessed has been allocated")
    }

    /// The position of a shared element, as 64 bits; `len + outside` if it is out of range.
    fn shared_row(&mut self, local: LocalId, index: Value, outside: u64) -> Raw {
        let len = u64::from(self.kernel.local(local).len);
        let row = self.wide_index(self.ty(index), self.scalar(index));
        let in_range = self.emit.icmp(LLVMIntULT, row, self.emit.i64(len));
        let row = self.emit.select(in_range, row, self.emit.i64(len + outside));
        self.expect_row(row, len as u32);
        row
    }

    /// The start of the elements of each packet.
    fn row_packets(&self, local: LocalId, row: Raw) -> Packets {
        let element = self.local_element(self.kernel.local(local).ty);
        let first = self.emit.mul(row, self.emit.i64(self.step()));
        let base = self.emit.address(element, self.place(local), first);
        let offset = |packet: usize| self.emit.i64(packet as u64 * u64::from(self.lanes));
        (0..self.packets).map(|packet| self.emit.address(element, base, offset(packet))).collect()
    }

    /// The address of each lane's element; at `len + outside` if the index is out of range or the mask is off.
    fn lane_rows(&mut self, local: LocalId, index: Value, outside: u64, mask: Option<&Packets>) -> Packets {
        let LocalMemory { ty, len } = self.kernel.local(local);
        let (index_type, indices, packets) = (self.ty(index), self.vectors(index), self.packets);
        let address = |packet: usize| {
            let index = self.extended_index(index_type, indices[packet]);
            let bits = index_type.bits().max(32);
            let mut accesses =
                self.emit.icmp(LLVMIntULT, index, self.emit.constant(self.emit.int(bits), self.lanes, len.into()));
            if let Some(mask) = mask {
                accesses = self.emit.and(accesses, mask[packet]);
            }
            let word = self.emit.vector(self.emit.int(32), self.lanes);
            let index = if bits == 64 { self.emit.convert(Conversion::Trunc, index, word) } else { index };
            let outside = self.emit.constant(self.emit.int(32), self.lanes, u64::from(len) + outside);
            let row = self.emit.select(accesses, index, outside);
            self.expect_rows(row, len);
            // At most 2^20 elements of 64 lanes: no position exceeds 32 bits.
            let step = self.emit.constant(self.emit.int(32), self.lanes, self.step());
            let own = self.emit.iota(32, self.lanes, packet as u64 * u64::from(self.lanes));
            let position = self.emit.add(self.emit.mul(row, step), own);
            self.emit.address(self.local_element(ty), self.place(local), position)
        };
        (0..packets).map(address).collect()
    }

    /// Indices by value in at least 32 bits.
    pub(super) fn extended_index(&self, ty: Type, indices: Raw) -> Raw {
        if ty.bits() >= 32 {
            return indices;
        }
        let extend = if ty.is_signed_integer() { Conversion::SExt } else { Conversion::ZExt };
        self.emit.convert(extend, indices, self.emit.vector(self.emit.int(32), self.lanes))
    }
}
