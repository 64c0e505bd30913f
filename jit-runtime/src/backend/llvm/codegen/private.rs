//! Reducing scatters into memory that no other thread accesses: a straight-line list of updates, one for each lane.
//!
//! Lanes are independent pieces of scalar code, so their indices and values must leave the vectors. Those that were
//! loaded from a buffer that nothing writes are loaded from there again, one by one, which costs no more than a plain
//! loop does. Others are stored to the stack and loaded from there.

use super::{Codegen, Packets};
use crate::backend::llvm::analysis::Shape;
use crate::backend::llvm::emit::{Conversion, Raw};
use crate::ir::{ParamId, ReduceOp, Type, Value};

/// A scatter, and what its lanes share.
struct Scatter<'l> {
    op: ReduceOp,
    buffer: ParamId,
    ty: Type,
    index: Value,
    lanes: Option<&'l Packets>,
    /// The number of neighbours that represent an element.
    copies_log2: u8,
}

/// Where the values of lanes are.
enum Source {
    /// One for all lanes.
    Shared(Raw),
    /// In memory, from the address on.
    Memory(Raw),
}

impl Codegen<'_> {
    /// Each lane combines into an element that no other thread accesses. Inactive lanes update memory that is never
    /// read.
    pub(super) fn scatter_privately(
        &mut self,
        op: ReduceOp,
        buffer: ParamId,
        index: Value,
        value: Value,
        lanes: Option<&Packets>,
    ) {
        let (ty, copies_log2) = (self.kernel.param(buffer).ty(), self.options.scatters.copies_log2());
        let scatter = Scatter { op, buffer, ty, index, lanes, copies_log2 };
        if copies_log2 == 0 && matches!(self.analysis.shape(index), Shape::Linear { .. }) {
            return self.combine_consecutive(&scatter, value);
        }
        let sources = self.sources(&scatter, value);
        let loaded = self.slots[index.index()].loaded_from.clone().filter(|_| lanes.is_none());
        let Some(loaded) = loaded else { return self.combine_each(&scatter, &sources) };
        if self.is_proven(buffer, index) {
            self.expect_inside(buffer, index, None);
            return self.combine_each_loaded(&scatter, &loaded, &sources);
        }
        let (index_type, indices) = (self.ty(index), self.vectors(index));
        let outside = indices.iter().map(|&indices| {
            let inside = self.are_inside(buffer, index_type, indices, 1);
            self.emit.not(inside)
        });
        let outside = outside.collect();
        let is_inside = self.emit.not(self.any(&outside));
        self.either(
            is_inside,
            |codegen| {
                codegen.combine_each_loaded(&scatter, &loaded, &sources);
                Packets::new()
            },
            |codegen| {
                codegen.combine_each(&scatter, &sources);
                Packets::new()
            },
        );
    }

    /// Where the values of each packet are.
    fn sources(&mut self, scatter: &Scatter<'_>, value: Value) -> Vec<Source> {
        if self.analysis.shape(value).is_scalar() {
            let scalar = self.scalar(value);
            let shared = self.stored_value(scatter.ty, scalar, 1);
            return (0..self.packets).map(|_| Source::Shared(shared)).collect();
        }
        // Bytes of truth values may be other than 0 and 1.
        let loaded = self.slots[value.index()].loaded_from.clone().filter(|_| scatter.ty != Type::Bool);
        let addresses = loaded.unwrap_or_else(|| {
            let values = self.vectors(value);
            values.iter().map(|&values| self.on_stack(self.stored_value(scatter.ty, values, self.lanes))).collect()
        });
        addresses.into_iter().map(Source::Memory).collect()
    }

    /// The updates of all lanes at indices that are in registers.
    fn combine_each(&mut self, scatter: &Scatter<'_>, sources: &[Source]) {
        let addresses = match scatter.copies_log2 {
            0 => self.private_addresses(scatter),
            _ => self.copy_addresses(scatter),
        };
        for (&addresses, source) in addresses.iter().zip(sources) {
            let addresses = self.on_stack(addresses);
            for lane in 0..u64::from(self.lanes) {
                let pointer = self.emit.ptr();
                let place = self.emit.address(pointer, addresses, self.emit.i64(lane));
                let address = self.emit.load(pointer, place, 8);
                self.combine_one(scatter, address, source, lane);
            }
        }
    }

    /// The updates of all lanes at indices that are in memory and in range.
    fn combine_each_loaded(&mut self, scatter: &Scatter<'_>, loaded: &Packets, sources: &[Source]) {
        let index_type = self.ty(scatter.index);
        let element = self.emit.memory_type(index_type);
        for (&loaded, source) in loaded.iter().zip(sources) {
            for lane in 0..u64::from(self.lanes) {
                let place = self.emit.address(element, loaded, self.emit.i64(lane));
                let index = self.emit.load(element, place, index_type.size_bytes());
                let first =
                    self.emit.shl(self.wide_index(index_type, index), self.emit.i64(scatter.copies_log2.into()));
                let neighbour = self.emit.i64(lane % (1 << scatter.copies_log2));
                let address = self.element_address(scatter.buffer, self.emit.or(first, neighbour));
                self.combine_one(scatter, address, source, lane);
            }
        }
    }

    /// The update of one lane.
    fn combine_one(&self, scatter: &Scatter<'_>, address: Raw, source: &Source, lane: u64) {
        let value = match *source {
            Source::Shared(value) => value,
            Source::Memory(first) => {
                let element = self.emit.memory_type(scatter.ty);
                // What is on the stack is aligned, what is in a buffer at least as its elements are.
                let place = self.emit.address(element, first, self.emit.i64(lane));
                self.emit.load(element, place, scatter.ty.size_bytes())
            }
        };
        self.plain_update(scatter.op, scatter.ty, address, value);
    }

    /// Stores a vector to memory, from where its lanes are cheaper to read one by one.
    fn on_stack(&self, vector: Raw) -> Raw {
        let slot = self.emit.alloca(self.emit.type_of(vector), 64);
        self.emit.store(vector, slot, 64);
        slot
    }

    /// The addresses of elements; for lanes that are inactive or out of range, memory that is never read.
    fn private_addresses(&mut self, scatter: &Scatter<'_>) -> Packets {
        let Scatter { buffer, index, lanes, .. } = *scatter;
        let lanes = self.lanes_inside(buffer, index, lanes.cloned());
        let (ty, indices) = (self.ty(index), self.vectors(index));
        let addresses = indices.iter().map(|&indices| self.lane_addresses(buffer, ty, indices));
        let Some(lanes) = lanes else { return addresses.collect() };
        let nowhere = self.emit.alloca(self.emit.vector(self.emit.int(64), self.lanes), 64);
        let each = self.emit.address(self.emit.int(64), nowhere, self.emit.iota(64, self.lanes, 0));
        addresses.zip(&lanes).map(|(addresses, &lanes)| self.emit.select(lanes, addresses, each)).collect()
    }

    /// The addresses of elements that are represented by several neighbours; each lane takes another neighbour. After
    /// the last element there is an additional one, which is never read, for lanes that are inactive or out of range.
    fn copy_addresses(&mut self, scatter: &Scatter<'_>) -> Packets {
        let Scatter { buffer, index, copies_log2, lanes, .. } = *scatter;
        let (ty, indices) = (self.ty(index), self.vectors(index));
        let log2 = self.emit.constant(self.emit.int(32), self.lanes, copies_log2.into());
        let neighbour: Vec<Raw> =
            (0..u64::from(self.lanes)).map(|lane| self.emit.int_const(32, lane % (1 << copies_log2))).collect();
        let neighbour = self.emit.const_vector(&neighbour);
        let mut addresses = Packets::new();
        for (packet, &indices) in indices.iter().enumerate() {
            let place = self.place_or_end(buffer, ty, indices, lanes.map(|lanes| lanes[packet]));
            // Targets with neighbours are small, so 32 bits are enough.
            let words = self.emit.vector(self.emit.int(32), self.lanes);
            let place = if ty.bits() == 64 { self.emit.convert(Conversion::Trunc, place, words) } else { place };
            let first = self.emit.shl(place, log2);
            addresses.push(self.lane_addresses(buffer, Type::I32, self.emit.or(first, neighbour)));
        }
        addresses
    }

    /// Combines into consecutive elements that no other thread accesses.
    fn combine_consecutive(&mut self, scatter: &Scatter<'_>, value: Value) {
        let Scatter { op, buffer, ty, index, lanes, .. } = *scatter;
        let values = self.vectors(value);
        self.consecutive(buffer, index, lanes.cloned(), |codegen, addresses, lanes| {
            for packet in 0..codegen.packets {
                let lanes = lanes.map(|lanes| lanes[packet]);
                let old = codegen.vector_load(ty, addresses[packet], lanes);
                let new = codegen.combine(op, ty, old, values[packet], codegen.lanes);
                codegen.vector_store(ty, addresses[packet], new, lanes, ty.size_bytes());
            }
            Packets::new()
        });
    }
}
