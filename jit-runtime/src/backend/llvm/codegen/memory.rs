//! Loads, stores, gathers and plain scatters.
//!
//! An element at a shared index is read once. Elements at consecutive indices are read or written as vectors. Only the
//! rest becomes a hardware gather or scatter.

use inkwell::llvm_sys::LLVMIntPredicate::LLVMIntNE;

use super::atomics::Results;
use super::frame::{Frame, READABLE_PADDING, is_only_written};
use super::{Codegen, Packets, PendingStore};
use crate::backend::llvm::analysis::Shape;
use crate::backend::llvm::emit::{Conversion, Raw, RawType};
use crate::backend::llvm::hints::Hint;
use crate::ir::{Access, Param, ParamId, ReduceOp, TOP, Type, Value};

/// Alignment of buffers in bytes.
const BUFFER_ALIGNMENT: usize = 64;

impl Codegen<'_> {
    pub(super) fn element(&self, buffer: ParamId) -> Type {
        self.kernel.param(buffer).ty()
    }

    /// The address of an element; the index has 64 bits, or is signed.
    pub(super) fn element_address(&self, buffer: ParamId, index: Raw) -> Raw {
        self.emit.address(self.emit.memory_type(self.element(buffer)), self.pointers[buffer.index()], index)
    }

    /// Addresses of the packets of a group whose first element is at `first`.
    pub(super) fn packet_addresses(&self, buffer: ParamId, first: Raw) -> Packets {
        let base = self.element_address(buffer, first);
        let element = self.emit.memory_type(self.element(buffer));
        let offset = |packet: usize| self.emit.i64(packet as u64 * u64::from(self.lanes));
        (0..self.packets).map(|packet| self.emit.address(element, base, offset(packet))).collect()
    }

    /// Converts a loaded value to its register form.
    pub(super) fn loaded_value(&self, ty: Type, value: Raw, lanes: u32) -> Raw {
        if ty != Type::Bool {
            return value;
        }
        self.emit.icmp(LLVMIntNE, value, self.emit.constant(self.emit.int(8), lanes, 0))
    }

    /// The inverse of [`Codegen::loaded_value`].
    pub(super) fn stored_value(&self, ty: Type, value: Raw, lanes: u32) -> Raw {
        if ty != Type::Bool {
            return value;
        }
        self.emit.convert(Conversion::ZExt, value, self.emit.vector(self.emit.int(8), lanes))
    }

    // --- at the lane's own index

    pub(super) fn load(&mut self, result: Value, buffer: ParamId) {
        let ty = self.element(buffer);
        let first = self.group_start.expect("loads run for each group");
        self.expect_loaded_elements(buffer, first);
        let addresses = self.packet_addresses(buffer, first);
        // Buffers may be read a little past their end.
        let bytes = self.packets * self.lanes as usize * ty.size_bytes();
        let unmasked = self.mask.is_none() || bytes <= READABLE_PADDING;
        let loads = (0..self.packets).map(|packet| {
            let mask = self.mask.as_ref().filter(|_| !unmasked).map(|mask| mask[packet]);
            self.vector_load(ty, addresses[packet], mask)
        });
        let loads = loads.collect();
        self.set_vectors(result, loads);
        if self.mask.is_none() && matches!(self.kernel.param(buffer), Param::Buffer { access: Access::Read, .. }) {
            self.slots[result.index()].loaded_from = Some(addresses);
        }
    }

    pub(super) fn vector_load(&self, ty: Type, address: Raw, mask: Option<Raw>) -> Raw {
        let vector = self.emit.vector(self.emit.memory_type(ty), self.lanes);
        let loaded = match mask {
            None => self.emit.load(vector, address, ty.size_bytes()),
            Some(mask) => {
                let arguments = [address, mask, self.emit.zero(vector)];
                let call = self.emit.intrinsic("llvm.masked.load", &[vector, self.emit.ptr()], &arguments);
                self.emit.set_argument_alignment(call, 0, ty.size_bytes());
                call
            }
        };
        self.loaded_value(ty, loaded, self.lanes)
    }

    /// Reads a vector whose first lane is at the end.
    fn reversed_load(&self, ty: Type, address: Raw) -> Raw {
        let vector = self.emit.vector(self.emit.memory_type(ty), self.lanes);
        let order: Vec<u64> = (0..u64::from(self.lanes)).rev().collect();
        let loaded = self.emit.shuffle(self.emit.load(vector, address, ty.size_bytes()), &order);
        self.loaded_value(ty, loaded, self.lanes)
    }

    pub(super) fn store(&mut self, buffer: ParamId, value: Value) {
        if self.frame != Frame::TwoBodies && is_only_written(self.kernel.param(buffer)) {
            return self.pending_stores.push(PendingStore { buffer, value });
        }
        let values = self.vectors(value);
        let mask = self.mask.clone();
        self.store_vectors(buffer, &values, mask.as_ref());
    }

    /// Writes the group's elements of a buffer.
    pub(super) fn store_vectors(&mut self, buffer: ParamId, values: &Packets, mask: Option<&Packets>) {
        let ty = self.element(buffer);
        let first = self.group_start.expect("stores run for each group");
        self.expect_own_elements(buffer, mask);
        let addresses = self.packet_addresses(buffer, first);
        for packet in 0..self.packets {
            let bytes = self.lanes as usize * ty.size_bytes();
            let mask = mask.map(|mask| mask[packet]);
            let alignment = if self.is_part { ty.size_bytes() } else { bytes.min(BUFFER_ALIGNMENT) };
            let store = self.vector_store(ty, addresses[packet], values[packet], mask, alignment);
            if let Some(store) = store.filter(|_| self.options.streaming_stores && bytes >= 16) {
                self.emit.mark_nontemporal(store);
            }
        }
    }

    /// Writes a vector. Returns the store instruction if it has no mask.
    pub(super) fn vector_store(
        &self,
        ty: Type,
        address: Raw,
        value: Raw,
        mask: Option<Raw>,
        alignment: usize,
    ) -> Option<Raw> {
        let value = self.stored_value(ty, value, self.lanes);
        let Some(mask) = mask else { return Some(self.emit.store(value, address, alignment)) };
        let overloads = [self.emit.type_of(value), self.emit.ptr()];
        let call = self.emit.intrinsic("llvm.masked.store", &overloads, &[value, address, mask]);
        self.emit.set_argument_alignment(call, 1, alignment);
        None
    }

    // --- at any index

    /// The active lanes that the operation's own mask does not exclude.
    pub(super) fn lanes_of(&mut self, mask: Option<Value>) -> Option<Packets> {
        let Some(own) = mask.map(|mask| self.vectors(mask)) else { return self.mask.clone() };
        Some(match &self.mask {
            Some(active) => own.iter().zip(active).map(|(&a, &b)| self.emit.and(a, b)).collect(),
            None => own,
        })
    }

    pub(super) fn gather(&mut self, result: Value, buffer: ParamId, index: Value, mask: Option<Value>) {
        if mask.is_some_and(|mask| self.analysis.constant(mask) == Some(0)) {
            let zero = self.emit.bits_constant(self.element(buffer), 1, 0);
            self.set_scalar(result, zero, false);
            return;
        }
        match self.analysis.shape(index) {
            _ if self.analysis.shape(result).is_scalar() => {
                let loaded = self.gather_scalar(buffer, index, mask.map(|mask| self.scalar(mask)));
                self.set_scalar(result, loaded, false);
            }
            Shape::Uniform | Shape::Packet => self.gather_shared(result, buffer, index, mask),
            Shape::Linear { .. } => {
                let (lanes, ty) = (self.lanes_of(mask), self.element(buffer));
                let loads = self.consecutive(buffer, index, lanes, |codegen, addresses, lanes| {
                    let load =
                        |packet: usize| codegen.vector_load(ty, addresses[packet], lanes.map(|lanes| lanes[packet]));
                    (0..codegen.packets).map(load).collect()
                });
                self.set_vectors(result, loads);
            }
            Shape::Varying => {
                let lanes = self.lanes_of(mask);
                if let Some(selector) = self.tables.selector(result) {
                    let elements = self.gather_from_table(buffer, selector, lanes.as_ref());
                    return self.set_vectors(result, elements);
                }
                if let Some(gathers) = self.gather_at_distances(buffer, index, lanes.as_ref()) {
                    return self.set_vectors(result, gathers);
                }
                let packets = self.packets;
                let has_pattern = self.pattern(buffer, index).is_some();
                // Only a vector can be read under a mask that may be empty for one packet.
                let hint = self.analysis.index_hint(self.kernel, index);
                let in_rows = self.region != TOP && self.analysis.in_rows[index.index()];
                let gathers = match hint.filter(|hint| lanes.is_none() || *hint == Hint::Consecutive || in_rows) {
                    _ if has_pattern => {
                        let lanes_of = |packet: usize| lanes.as_ref().map(|lanes| lanes[packet]);
                        (0..packets).map(|packet| self.gather_part(buffer, index, packet, lanes_of(packet))).collect()
                    }
                    Some(hint) => {
                        if self.is_proven(buffer, index) {
                            self.expect_inside(buffer, index, lanes.as_ref());
                        }
                        let gather = |packet: usize| {
                            let lanes = lanes.as_ref().map(|lanes| lanes[packet]);
                            match hint {
                                Hint::Shared if lanes.is_some() => {
                                    self.gather_two_rows(hint, buffer, index, packet, lanes)
                                }
                                _ => self.gather_checked(hint, buffer, index, packet, lanes, in_rows),
                            }
                        };
                        (0..packets).map(gather).collect()
                    }
                    None => {
                        let lanes = self.lanes_inside(buffer, index, lanes);
                        let (ty, indices) = (self.ty(index), self.vectors(index));
                        let gather = |packet: usize| {
                            self.gather_packet(buffer, ty, indices[packet], lanes.as_ref().map(|lanes| lanes[packet]))
                        };
                        (0..self.packets).map(gather).collect()
                    }
                };
                self.set_vectors(result, gathers);
            }
        }
    }

    /// Elements at distances from each other that follow from the index; none if there are no such distances.
    fn gather_at_distances(&mut self, buffer: ParamId, index: Value, lanes: Option<&Packets>) -> Option<Packets> {
        let near = self.near_index(buffer, index);
        let (rows, stride, packets) = (self.near_rows(buffer, index), self.stride(index), self.packets);
        let gather = |packet: usize| {
            let lanes = lanes.map(|lanes| lanes[packet]);
            match (near, rows, stride) {
                (Some(near), ..) => Some(self.gather_near(&near, buffer, index, packet, lanes)),
                (_, Some(rows), _) => Some(self.gather_rows(&rows, buffer, index, packet, lanes)),
                (.., Some(stride)) => Some(self.gather_strided(stride, buffer, index, packet, lanes)),
                _ => None,
            }
        };
        (0..packets).map(gather).collect()
    }

    /// Elements that are read in some way if a condition holds, and otherwise by a gather; zero where the mask is off.
    pub(super) fn gather_if(
        &mut self,
        condition: Raw,
        buffer: ParamId,
        index: Value,
        packet: usize,
        lanes: Option<Raw>,
        read: impl FnOnce(&mut Self) -> Raw,
    ) -> Raw {
        let ty = self.element(buffer);
        let gathered = self.either(
            condition,
            |codegen| {
                let elements = read(codegen);
                let values = codegen.loaded_value(ty, elements, codegen.lanes);
                let zero = codegen.emit.bits_constant(ty, codegen.lanes, 0);
                Packets::from_elem(lanes.map_or(values, |lanes| codegen.emit.select(lanes, values, zero)), 1)
            },
            |codegen| Packets::from_elem(codegen.gather_any(buffer, index, packet, lanes), 1),
        );
        gathered[0]
    }

    /// One element for all lanes: zero if the index is out of range, or the mask is off.
    fn gather_scalar(&mut self, buffer: ParamId, index: Value, mask: Option<Raw>) -> Raw {
        let ty = self.element(buffer);
        let wide = self.wide_index(self.ty(index), self.scalar(index));
        let address = self.element_address(buffer, wide);
        let is_proven = self.is_proven(buffer, index);
        if is_proven {
            self.expect_run_inside(buffer, self.ty(index), wide, 1);
        }
        let is_inside = (!is_proven).then(|| self.is_inside(buffer, wide));
        let reads = match (mask, is_inside) {
            (Some(mask), Some(is_inside)) => Some(self.emit.and(mask, is_inside)),
            (mask, is_inside) => mask.or(is_inside),
        };
        let load = self.load_or_zero(ty, address, reads);
        if matches!(self.kernel.param(buffer), Param::Buffer { access: Access::Read, .. }) {
            self.emit.mark_invariant(load);
        }
        self.loaded_value(ty, load, 1)
    }

    /// Loads an element if a condition holds, which is not known to hold always if there is one; otherwise zero.
    pub(super) fn load_or_zero(&self, ty: Type, address: Raw, condition: Option<Raw>) -> Raw {
        let address = match condition {
            Some(reads) => self.emit.select(reads, address, self.emit.constant_address(Type::U64, 0)),
            None => address,
        };
        self.emit.load(self.emit.memory_type(ty), address, ty.size_bytes())
    }

    /// One element for the lanes that the operation's mask selects.
    fn gather_shared(&mut self, result: Value, buffer: ParamId, index: Value, mask: Option<Value>) {
        let lanes = self.lanes_of(mask).expect("without a mask the result is scalar");
        let any = self.any(&lanes);
        let loaded = self.gather_scalar(buffer, index, Some(any));
        let zero = self.emit.bits_constant(self.element(buffer), self.lanes, 0);
        let vectors = self.broadcast(loaded);
        let vectors = vectors.iter().zip(&lanes).map(|(&value, &lanes)| self.emit.select(lanes, value, zero)).collect();
        self.set_vectors(result, vectors);
    }

    /// An index as 64 bits.
    pub(super) fn wide_index(&self, ty: Type, index: Raw) -> Raw {
        let word = self.emit.int(64);
        match ty {
            Type::I64 | Type::U64 => index,
            _ if ty.is_signed_integer() => self.emit.convert(Conversion::SExt, index, word),
            _ => self.emit.convert(Conversion::ZExt, index, word),
        }
    }

    /// The first of the consecutive indices of a group, as 64 bits.
    pub(super) fn linear_start(&self, index: Value) -> Raw {
        let (ty, first) = (self.ty(index), self.scalar(index));
        let aligned = self.analysis.shape(index) == Shape::Linear { aligned: true };
        if aligned { self.wide_index(ty, first) } else { self.consecutive_start(ty, first) }
    }

    /// The first of consecutive indices, as 64 bits.
    ///
    /// 32-bit indices may pass 2^32 inside a group. Those before are then effectively negative, and belong to lanes
    /// that do not access memory, as no buffer is that long. After adding a group's size, such a start is small and
    /// positive.
    pub(super) fn consecutive_start(&self, ty: Type, first: Raw) -> Raw {
        if ty != Type::U32 {
            return self.wide_index(ty, first);
        }
        let step = self.emit.int_const(32, self.step());
        let moved = self.emit.convert(Conversion::ZExt, self.emit.add(first, step), self.emit.int(64));
        self.emit.sub(moved, self.emit.i64(self.step()))
    }

    /// Whether the indices of a packet differ from the expected pattern, and the first one. Of a sum of such indices
    /// and a shared value, the former are compared: once for all sums, and outside of loops that do not change them.
    fn compared(&mut self, hint: Hint, index: Value, packet: usize) -> (Raw, Raw) {
        if let Some((indices, distance)) = self.analysis.moved[index.index()] {
            let (differs, first) = self.compared(hint, indices, packet);
            let distance = self.scalar(distance);
            return (differs, self.emit.add(first, distance));
        }
        let (indices, ty) = (self.vectors(index)[packet], self.ty(index));
        self.compared_once(indices, Some(hint), |codegen, first| codegen.expected(hint, ty, first))
    }

    /// Whether the indices of a packet differ from those that are expected if the first one is what it is, and that
    /// one. `None` stands for the pattern of the indices, of which there is one.
    pub(super) fn compared_once(
        &mut self,
        indices: Raw,
        hint: Option<Hint>,
        expected: impl FnOnce(&Self, Raw) -> Raw,
    ) -> (Raw, Raw) {
        if let Some(&compared) = self.compared.get(&(indices, hint)) {
            return compared;
        }
        let mut first = None;
        let differs = self.emit.after_definition(indices, |e| {
            let start = *first.insert(e.extract_element(indices, e.i64(0)));
            self.any(&Packets::from_elem(e.icmp(LLVMIntNE, indices, expected(self, start)), 1))
        });
        let compared = (differs, first.expect("code that follows a definition is generated at once"));
        if !self.emit.is_constant(indices) {
            self.compared.insert((indices, hint), compared);
        }
        compared
    }

    /// The indices that a hint lets expect.
    pub(super) fn expected(&self, hint: Hint, ty: Type, first: Raw) -> Raw {
        let (e, all) = (&self.emit, self.emit.splat(first, self.lanes));
        match hint {
            Hint::Shared => all,
            Hint::Consecutive => e.add(all, e.iota(ty.bits(), self.lanes, 0)),
            Hint::Descending => e.sub(all, e.iota(ty.bits(), self.lanes, 0)),
        }
    }

    /// Gathers a packet, after comparing its indices with the expected pattern.
    fn gather_checked(
        &mut self,
        hint: Hint,
        buffer: ParamId,
        index: Value,
        packet: usize,
        lanes: Option<Raw>,
        in_rows: bool,
    ) -> Raw {
        let (index_type, indices) = (self.ty(index), self.vectors(index)[packet]);
        let is_known = lanes.is_none() && self.analysis.is_known_in_packets(self.kernel, index);
        let (differs, first) = match lanes {
            None if is_known => (self.emit.int_const(1, 0), self.first_index(index, packet)),
            None => self.compared(hint, index, packet),
            Some(lanes) => {
                let first = self.emit.extract_element(indices, self.emit.i64(0));
                let differs = self.emit.icmp(LLVMIntNE, indices, self.expected(hint, index_type, first));
                (self.any(&Packets::from_elem(self.emit.and(differs, lanes), 1)), first)
            }
        };
        let (first, count) = match hint {
            Hint::Shared => (self.wide_index(index_type, first), 1),
            Hint::Consecutive => (self.consecutive_start(index_type, first), u64::from(self.lanes)),
            // Negative, and so out of range, if the indices wrap around.
            Hint::Descending => {
                let last = self.emit.sub(self.wide_index(index_type, first), self.emit.i64(u64::from(self.lanes) - 1));
                (last, u64::from(self.lanes))
            }
        };
        let is_proven = self.is_proven(buffer, index);
        let mut is_hoped = self.emit.not(differs);
        if !is_proven {
            let is_inside = self.is_run_inside(buffer, index_type, first, count);
            is_hoped = self.emit.and(is_hoped, is_inside);
        }
        let address = self.element_address(buffer, first);
        if is_known && is_proven {
            return self.read_as(hint, buffer, address, None);
        }
        let gathered = self.either(
            is_hoped,
            |codegen| Packets::from_elem(codegen.read_as(hint, buffer, address, lanes), 1),
            |codegen| {
                Packets::from_elem(
                    match hint {
                        Hint::Shared | Hint::Consecutive if in_rows => {
                            codegen.gather_two_rows(hint, buffer, index, packet, lanes)
                        }
                        _ => codegen.gather_any(buffer, index, packet, lanes),
                    },
                    1,
                )
            },
        );
        gathered[0]
    }

    /// The first index of a packet. Of a sum with a shared value, that of the other operand is read: once for all sums,
    /// and outside of loops that do not change it.
    fn first_index(&mut self, index: Value, packet: usize) -> Raw {
        if let Some((indices, distance)) = self.analysis.moved[index.index()] {
            let first = self.first_index(indices, packet);
            return self.emit.add(first, self.scalar(distance));
        }
        let indices = self.vectors(index)[packet];
        self.emit.after_definition(indices, |e| e.extract_element(indices, e.i64(0)))
    }

    /// Reads the elements of a packet, whose first one in memory is at an address.
    fn read_as(&self, hint: Hint, buffer: ParamId, address: Raw, lanes: Option<Raw>) -> Raw {
        let ty = self.element(buffer);
        match hint {
            Hint::Shared => {
                let load = self.emit.load(self.emit.memory_type(ty), address, ty.size_bytes());
                self.splat_with(&self.emit, self.loaded_value(ty, load, 1))
            }
            Hint::Consecutive => self.vector_load(ty, address, lanes),
            Hint::Descending => self.reversed_load(ty, address),
        }
    }

    /// Gathers a packet at any indices.
    pub(super) fn gather_any(&mut self, buffer: ParamId, index: Value, packet: usize, lanes: Option<Raw>) -> Raw {
        let (ty, indices) = (self.ty(index), self.vectors(index)[packet]);
        let is_proven = self.is_proven(buffer, index);
        let lanes = if is_proven { lanes } else { Some(self.inside(buffer, ty, indices, lanes)) };
        self.gather_packet(buffer, ty, indices, lanes)
    }

    /// A vector of addresses, one for each lane.
    pub(super) fn lane_addresses(&self, buffer: ParamId, ty: Type, indices: Raw) -> Raw {
        let element = self.emit.memory_type(self.element(buffer));
        let base = self.pointers[buffer.index()];
        match ty {
            Type::U32 => {
                // As signed distances from the middle of the range, which is the form that gathers require.
                let middle = self.emit.address(element, base, self.emit.i64(1 << 31));
                let sign = self.emit.constant(self.emit.int(32), self.lanes, 1 << 31);
                self.emit.address(element, middle, self.emit.xor(indices, sign))
            }
            Type::I32 | Type::I64 | Type::U64 => self.emit.address(element, base, indices),
            _ => {
                let extend = if ty.is_signed_integer() { Conversion::SExt } else { Conversion::ZExt };
                let words = self.emit.vector(self.emit.int(32), self.lanes);
                self.emit.address(element, base, self.emit.convert(extend, indices, words))
            }
        }
    }

    pub(super) fn gather_packet(&self, buffer: ParamId, index_type: Type, indices: Raw, lanes: Option<Raw>) -> Raw {
        let ty = self.element(buffer);
        if ty.size_bytes() < 4 {
            return self.gather_small(buffer, index_type, indices, lanes);
        }
        let addresses = self.lane_addresses(buffer, index_type, indices);
        self.gather_elements(self.emit.memory_type(ty), addresses, lanes, ty.size_bytes())
    }

    fn gather_elements(&self, element: RawType, addresses: Raw, lanes: Option<Raw>, alignment: usize) -> Raw {
        let vector = self.emit.vector(element, self.lanes);
        let mask = lanes.unwrap_or_else(|| self.emit.all_ones(self.emit.vector(self.emit.int(1), self.lanes)));
        let overloads = [vector, self.emit.type_of(addresses)];
        let call = self.emit.intrinsic("llvm.masked.gather", &overloads, &[addresses, mask, self.emit.zero(vector)]);
        self.emit.set_argument_alignment(call, 0, alignment);
        call
    }

    /// Elements of one or two bytes: the aligned words that contain them are gathered and shifted. An aligned word is
    /// in the same page as the element, and buffers begin at word boundaries.
    fn gather_small(&self, buffer: ParamId, index_type: Type, indices: Raw, lanes: Option<Raw>) -> Raw {
        let e = &self.emit;
        let ty = self.element(buffer);
        let bits = index_type.bits().max(32);
        let integer = e.vector(e.int(bits), self.lanes);
        let indices = match (index_type.bits() < 32, index_type.is_signed_integer()) {
            (false, _) => indices,
            (true, true) => e.convert(Conversion::SExt, indices, integer),
            (true, false) => e.convert(Conversion::ZExt, indices, integer),
        };
        let constant = |value| e.constant(e.int(bits), self.lanes, value);
        let (log_elements, log_bits) = if ty.size_bytes() == 1 { (2, 3) } else { (1, 4) };
        let words = e.lshr(indices, constant(log_elements));
        let part = e.shl(e.and(indices, constant((1 << log_elements) - 1)), constant(log_bits));
        let addresses = e.address(e.int(32), self.pointers[buffer.index()], words);
        let gathered = self.gather_elements(e.int(32), addresses, lanes, 4);
        let word = e.vector(e.int(32), self.lanes);
        let part = if bits == 64 { e.convert(Conversion::Trunc, part, word) } else { part };
        let element = e.vector(e.memory_type(ty), self.lanes);
        let value = e.convert(Conversion::Trunc, e.lshr(gathered, part), element);
        self.loaded_value(ty, value, self.lanes)
    }

    pub(super) fn scatter(
        &mut self,
        reduce: Option<ReduceOp>,
        buffer: ParamId,
        index: Value,
        value: Value,
        mask: Option<Value>,
    ) {
        if mask.is_some_and(|mask| self.analysis.constant(mask) == Some(0)) {
            return;
        }
        if let Some(op) = reduce {
            let lanes = self.lanes_of(mask);
            return self.scatter_reduce(op, buffer, index, value, lanes);
        }
        let is_done = mask.is_none()
            && match self.region {
                TOP => self.scatter_of_record(buffer, index),
                _ => self.scatter_to_stream(buffer, index, value),
            };
        if !is_done {
            self.scatter_at(buffer, index, value, mask);
        }
    }

    /// Writes the elements at an index.
    pub(super) fn scatter_at(&mut self, buffer: ParamId, index: Value, value: Value, mask: Option<Value>) {
        let lanes = self.lanes_of(mask);
        let ty = self.element(buffer);
        let values = self.vectors(value);
        if matches!(self.analysis.shape(index), Shape::Linear { .. }) {
            self.consecutive(buffer, index, lanes, |codegen, addresses, lanes| {
                for packet in 0..codegen.packets {
                    let lanes = lanes.map(|lanes| lanes[packet]);
                    codegen.vector_store(ty, addresses[packet], values[packet], lanes, ty.size_bytes());
                }
                Packets::new()
            });
            return;
        }
        let lanes = self.lanes_inside(buffer, index, lanes);
        let indices = self.vectors(index);
        for packet in 0..self.packets {
            let lanes = lanes.as_ref().map(|lanes| lanes[packet]);
            let addresses = self.lane_addresses(buffer, self.ty(index), indices[packet]);
            self.scatter_packet(ty, addresses, values[packet], lanes);
        }
    }

    fn scatter_packet(&mut self, ty: Type, addresses: Raw, value: Raw, lanes: Option<Raw>) {
        let value = self.stored_value(ty, value, self.lanes);
        self.scatter_elements(ty, addresses, value, lanes);
    }

    /// Scatters elements that have the form which they have in memory.
    pub(super) fn scatter_elements(&mut self, ty: Type, addresses: Raw, value: Raw, lanes: Option<Raw>) {
        let mask = lanes.unwrap_or_else(|| self.emit.all_ones(self.emit.vector(self.emit.int(1), self.lanes)));
        if ty.size_bytes() < 4 || !self.target.has_masks() {
            // There is no such instruction.
            self.each_active_lane(mask, &[addresses, value], &[], |codegen, parts| {
                codegen.emit.store(parts[1], parts[0], ty.size_bytes());
                Results::new()
            });
            return;
        }
        let overloads = [self.emit.type_of(value), self.emit.type_of(addresses)];
        let call = self.emit.intrinsic("llvm.masked.scatter", &overloads, &[value, addresses, mask]);
        self.emit.set_argument_alignment(call, 1, ty.size_bytes());
    }
}
