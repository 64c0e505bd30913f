//! Bytes that are selected from a table in registers: see [`tables`](crate::backend::llvm::tables).

use inkwell::llvm_sys::LLVMIntPredicate::{LLVMIntSLT, LLVMIntULT};

use super::{Codegen, Packets};
use crate::backend::llvm::emit::{Conversion, Raw};
use crate::ir::{ParamId, Value};

/// The bytes in a register.
const BYTES: u32 = 64;
/// The registers of a table.
const REGISTERS: u64 = 4;
const SELECT: &str = "llvm.x86.avx512.vpermi2var.qi.512";

impl Codegen<'_> {
    /// The elements that the lowest bytes of a number select.
    pub(super) fn gather_from_table(&mut self, buffer: ParamId, selector: Value, lanes: Option<&Packets>) -> Packets {
        let (ty, table) = (self.element(buffer), self.table(buffer));
        let selectors = self.vectors(selector);
        let select = |(packet, &selector): (usize, &Raw)| {
            let elements = self.loaded_value(ty, self.selected_bytes(&table, selector), self.lanes);
            let zero = self.emit.bits_constant(ty, self.lanes, 0);
            lanes.map_or(elements, |lanes| self.emit.select(lanes[packet], elements, zero))
        };
        selectors.iter().enumerate().map(select).collect()
    }

    /// The registers of a table, which are read once, before the first lane.
    fn table(&mut self, buffer: ParamId) -> [Raw; REGISTERS as usize] {
        if let Some(table) = self.tables_read.get(&buffer) {
            return *table;
        }
        let (length, first) = (self.length(buffer), self.pointers[buffer.index()]);
        let table = std::array::from_fn(|register| {
            self.emit.after_definition(length, |e| {
                let (bytes, word) = (e.vector(e.int(8), BYTES), e.int(64));
                let begin = e.i64(register as u64 * u64::from(BYTES));
                let rest = e.intrinsic("llvm.usub.sat", &[word], &[length, begin]);
                let count = e.intrinsic("llvm.umin", &[word], &[rest, e.i64(BYTES.into())]);
                let count = e.splat(e.convert(Conversion::Trunc, count, e.int(8)), BYTES);
                let is_inside = e.icmp(LLVMIntULT, e.iota(8, BYTES, 0), count);
                let arguments = [e.address(e.int(8), first, begin), is_inside, e.zero(bytes)];
                let load = e.intrinsic("llvm.masked.load", &[bytes, e.ptr()], &arguments);
                e.set_argument_alignment(load, 0, 1);
                load
            })
        });
        self.tables_read.insert(buffer, table);
        table
    }

    fn selected_bytes(&self, table: &[Raw; REGISTERS as usize], selector: Raw) -> Raw {
        let (e, lanes) = (&self.emit, u64::from(self.lanes));
        let bytes = e.vector(e.int(8), self.lanes);
        let selector =
            if e.type_of(selector) == bytes { selector } else { e.convert(Conversion::Trunc, selector, bytes) };
        let all: Vec<u64> = (0..u64::from(BYTES)).map(|byte| byte % lanes).collect();
        let selector = if self.lanes == BYTES { selector } else { e.shuffle(selector, &all) };
        // Each instruction uses seven bits; the eighth one chooses between two of them.
        let half = |first: usize| e.intrinsic(SELECT, &[], &[table[first], selector, table[first + 1]]);
        let is_upper = e.icmp(LLVMIntSLT, selector, e.zero(e.vector(e.int(8), BYTES)));
        let selected = e.select(is_upper, half(2), half(0));
        let first: Vec<u64> = (0..lanes).collect();
        if self.lanes == BYTES { selected } else { e.shuffle(selected, &first) }
    }
}
