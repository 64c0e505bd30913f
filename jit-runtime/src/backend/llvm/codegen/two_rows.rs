//! Gathers of packets that have the end of one row and the beginning of the next one: the lanes of each row read one
//! element, or neighbours.

use inkwell::llvm_sys::LLVMIntPredicate::LLVMIntEQ;

use super::{Codegen, Packets};
use crate::backend::llvm::emit::Raw;
use crate::backend::llvm::hints::Hint;
use crate::ir::{ParamId, Value};

/// The lanes of a packet that belong to each row.
struct TwoRows {
    /// The index of the first lane, and of the last one.
    ends: [Raw; 2],
    /// The lanes whose indices are related to that of the first lane as the hint says, and to that of the last one.
    lanes: [Raw; 2],
}

impl Codegen<'_> {
    /// Gathers a packet whose indices probably are those of two rows, after comparing them.
    pub(super) fn gather_two_rows(
        &mut self,
        hint: Hint,
        buffer: ParamId,
        index: Value,
        packet: usize,
        lanes: Option<Raw>,
    ) -> Raw {
        let has_small_gathers = self.element(buffer).size_bytes() < 4 && !self.target.has_masks();
        if hint == Hint::Consecutive && has_small_gathers {
            return self.gather_any(buffer, index, packet, lanes);
        }
        let rows = self.two_rows(hint, index, packet);
        let others = self.emit.not(self.emit.or(rows.lanes[0], rows.lanes[1]));
        let others = lanes.map_or(others, |lanes| self.emit.and(lanes, others));
        let are_two = self.emit.not(self.any(&Packets::from_elem(others, 1)));
        let gathered = self.either(
            are_two,
            |codegen| {
                let gathered = match hint {
                    Hint::Shared => codegen.two_elements(&rows, buffer, index, lanes),
                    _ => codegen.two_vectors(&rows, buffer, index, packet, lanes),
                };
                Packets::from_elem(gathered, 1)
            },
            |codegen| Packets::from_elem(codegen.gather_any(buffer, index, packet, lanes), 1),
        );
        gathered[0]
    }

    fn two_rows(&mut self, hint: Hint, index: Value, packet: usize) -> TwoRows {
        let (ty, indices) = (self.ty(index), self.vectors(index)[packet]);
        let last = u64::from(self.lanes) - 1;
        let e = &self.emit;
        let ends = [0, last].map(|lane| e.extract_element(indices, e.i64(lane)));
        // What the first lane has if the last one belongs to its row.
        let begin = match hint {
            Hint::Shared => ends[1],
            _ => e.sub(ends[1], e.int_const(ty.bits(), last)),
        };
        let lanes = [ends[0], begin].map(|first| e.icmp(LLVMIntEQ, indices, self.expected(hint, ty, first)));
        TwoRows { ends, lanes }
    }

    /// One element for each row. The first and the last lane may be inactive, so their indices can be out of range
    /// though those of all active lanes are proven not to be.
    fn two_elements(&mut self, rows: &TwoRows, buffer: ParamId, index: Value, lanes: Option<Raw>) -> Raw {
        let (ty, index_type) = (self.element(buffer), self.ty(index));
        let elements = rows.ends.map(|index| {
            let index = self.wide_index(index_type, index);
            let (address, is_inside) = (self.element_address(buffer, index), self.is_inside(buffer, index));
            let load = self.load_or_zero(ty, address, Some(is_inside));
            self.splat_with(&self.emit, self.loaded_value(ty, load, 1))
        });
        let both = self.emit.select(rows.lanes[0], elements[0], elements[1]);
        let zero = self.emit.bits_constant(ty, self.lanes, 0);
        lanes.map_or(both, |lanes| self.emit.select(lanes, both, zero))
    }

    /// Neighbours for each row.
    fn two_vectors(&mut self, rows: &TwoRows, buffer: ParamId, index: Value, packet: usize, lanes: Option<Raw>) -> Raw {
        let (ty, index_type, indices) = (self.element(buffer), self.ty(index), self.vectors(index)[packet]);
        let is_proven = self.is_proven(buffer, index);
        let lanes = if is_proven { lanes } else { Some(self.inside(buffer, index_type, indices, lanes)) };
        let of_row = |lanes_of_row: Raw| lanes.map_or(lanes_of_row, |lanes| self.emit.and(lanes, lanes_of_row));
        let masks = [rows.lanes[0], self.emit.not(rows.lanes[0])].map(of_row);
        let first = self.consecutive_start(index_type, rows.ends[0]);
        let last = self.emit.i64(u64::from(self.lanes) - 1);
        let second = self.emit.sub(self.wide_index(index_type, rows.ends[1]), last);
        let load = |(index, mask): (Raw, Raw)| self.vector_load(ty, self.element_address(buffer, index), Some(mask));
        let [first, second] = [(first, masks[0]), (second, masks[1])].map(load);
        self.emit.select(masks[0], first, second)
    }
}
