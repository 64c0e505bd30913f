//! Gathers from a small part of memory, which is read as one vector: see [`patterns`](crate::backend::llvm::patterns).

use super::{Codegen, Packets};
use crate::backend::llvm::emit::Raw;
use crate::backend::llvm::patterns::Pattern;
use crate::ir::{ParamId, Value};

impl Codegen<'_> {
    /// The expected lanes of the index of a gather, if it reads a small part of a buffer.
    pub(super) fn pattern(&self, buffer: ParamId, index: Value) -> Option<&Pattern> {
        self.analysis.index_pattern(self.kernel, index, self.element(buffer), self.lanes)
    }

    /// Gathers a packet from a small part of a buffer, after comparing its indices with the expected pattern.
    pub(super) fn gather_part(&mut self, buffer: ParamId, index: Value, packet: usize, lanes: Option<Raw>) -> Raw {
        let (index_type, indices, ty) = (self.ty(index), self.vectors(index)[packet], self.element(buffer));
        let pattern = self.pattern(buffer, index).expect("a part is gathered by a pattern").clone();
        let part = pattern.part(self.lanes);
        let (differs, first) = self.compared_with(&pattern, index, packet);
        let start = self.emit.add(self.wide_index(index_type, first), self.emit.i64(part.first as u64));
        let is_inside = self.is_run_inside(buffer, index_type, start, part.count);
        let is_hoped = self.emit.and(self.emit.not(differs), is_inside);
        let gathered = self.either(
            is_hoped,
            |codegen| {
                // Buffers may be read a little past their end.
                let elements = codegen.emit.vector(codegen.emit.memory_type(ty), part.count.next_power_of_two() as u32);
                let address = codegen.element_address(buffer, start);
                let loaded = codegen.emit.load(elements, address, ty.size_bytes());
                let moved = codegen.loaded_value(ty, codegen.emit.shuffle(loaded, &part.order), codegen.lanes);
                let zero = codegen.emit.bits_constant(ty, codegen.lanes, 0);
                Packets::from_elem(lanes.map_or(moved, |lanes| codegen.emit.select(lanes, moved, zero)), 1)
            },
            |codegen| {
                let lanes = Some(codegen.inside(buffer, index_type, indices, lanes));
                Packets::from_elem(codegen.gather_packet(buffer, index_type, indices, lanes), 1)
            },
        );
        gathered[0]
    }

    /// Whether the indices of a packet differ from a pattern, and the first one. Of a sum, the value that varies is
    /// compared, once for all sums.
    fn compared_with(&mut self, pattern: &Pattern, index: Value, packet: usize) -> (Raw, Raw) {
        if let Some((indices, distance)) = pattern.moved
            && let Some(inner) = self.analysis.patterns[indices.index()].clone()
        {
            let (differs, first) = self.compared_with(&inner, indices, packet);
            return (differs, self.emit.add(first, self.scalar(distance)));
        }
        let (indices, bits) = (self.vectors(index)[packet], self.ty(index).bits());
        self.compared_once(indices, None, |codegen, first| {
            let e = &codegen.emit;
            let distances = pattern.distances(codegen.lanes).iter();
            let distances: Vec<Raw> = distances.map(|&distance| e.int_const(bits, distance as u64)).collect();
            e.add(e.splat(first, codegen.lanes), e.const_vector(&distances))
        })
    }
}
