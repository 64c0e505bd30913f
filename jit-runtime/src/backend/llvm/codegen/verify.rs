//! Redundant checks of proven accesses, if the target requests them: see [`crate::backend::loader::violation`].

use inkwell::llvm_sys::LLVMIntPredicate::LLVMIntULE;

use super::frame::Frame;
use super::{Codegen, Packets, local};
use crate::backend::llvm::emit::{Conversion, Raw};
use crate::backend::llvm::rows::Row;
use crate::backend::loader::violation::RECORD_WORDS;
use crate::ir::{ParamId, Type, Value, encode};

impl Codegen<'_> {
    /// Checks that the index of a buffer is in range, on some lanes, or all.
    pub(super) fn expect_inside(&mut self, buffer: ParamId, index: Value, lanes: Option<&Packets>) {
        if !self.target.verifies_accesses {
            return;
        }
        let (ty, length) = (self.ty(index), self.length(buffer));
        for (packet, indices) in self.indices_here(index).into_iter().enumerate() {
            let inside = self.are_inside(buffer, ty, indices, 1);
            self.expect_all(inside, lanes.map(|lanes| lanes[packet]), ty, indices, length);
        }
    }

    /// Checks that the rows that begin at some indices are entirely in range.
    pub(super) fn expect_rows_inside(&mut self, row: &Row, starts: &Packets, lanes: Option<&Packets>) {
        if !self.target.verifies_accesses {
            return;
        }
        let (ty, length) = (self.ty(row.index), self.length(row.buffer));
        for (packet, &starts) in starts.iter().enumerate() {
            let inside = self.are_inside(row.buffer, ty, starts, row.columns.len() as u64);
            self.expect_all(inside, lanes.map(|lanes| lanes[packet]), ty, starts, length);
        }
    }

    /// Checks that a number of elements are in range, starting at an index of 64 bits.
    pub(super) fn expect_run_inside(&mut self, buffer: ParamId, ty: Type, first: Raw, count: u64) {
        if self.target.verifies_accesses {
            let is_inside = self.is_run_inside(buffer, ty, first, count);
            self.expect(is_inside, first, self.length(buffer));
        }
    }

    /// Checks that the active lanes have elements where a group that begins at a lane loads them: as a whole, including
    /// elements behind the range, if that is harmless.
    pub(super) fn expect_loaded_elements(&mut self, buffer: ParamId, first: Raw) {
        if self.target.verifies_accesses {
            let lanes = if self.frame == Frame::Plain { Some(self.range_mask(first)) } else { self.mask.clone() };
            self.expect_own_elements(buffer, lanes.as_ref());
        }
    }

    /// Checks that the lanes of the group have elements in a buffer.
    pub(super) fn expect_own_elements(&mut self, buffer: ParamId, lanes: Option<&Packets>) {
        if !self.target.verifies_accesses {
            return;
        }
        let length = self.length(buffer);
        let start = self.group_start.expect("loads and stores run for each group");
        for packet in 0..self.packets {
            let own = self.emit.iota(64, self.lanes, packet as u64 * u64::from(self.lanes));
            let indices = self.emit.add(self.emit.splat(start, self.lanes), own);
            let inside = self.are_inside(buffer, Type::U64, indices, 1);
            self.expect_all(inside, lanes.map(|lanes| lanes[packet]), Type::U64, indices, length);
        }
    }

    /// Checks that positions in local memory, as 64 bits, are at most two elements behind its end, where invalid
    /// accesses go.
    pub(super) fn expect_row(&mut self, row: Raw, len: u32) {
        if self.target.verifies_accesses {
            let last = self.emit.i64(u64::from(len) + 1);
            let is_inside = self.emit.icmp(LLVMIntULE, row, last);
            self.expect(is_inside, row, self.emit.i64(len.into()));
        }
    }

    /// As [`Codegen::expect_row`], for each lane and as 32 bits.
    pub(super) fn expect_rows(&mut self, rows: Raw, len: u32) {
        if self.target.verifies_accesses {
            let last = self.emit.constant(self.emit.int(32), self.lanes, u64::from(len) + 1);
            let inside = self.emit.icmp(LLVMIntULE, rows, last);
            self.expect_all(inside, None, Type::U32, rows, self.emit.i64(len.into()));
        }
    }

    /// Checks that all lanes, or all of some lanes, are in range.
    fn expect_all(&mut self, inside: Raw, lanes: Option<Raw>, ty: Type, indices: Raw, length: Raw) {
        let outside = self.emit.not(inside);
        let outside = lanes.map_or(outside, |lanes| self.emit.and(lanes, outside));
        let is_inside = self.emit.not(self.any(&Packets::from_elem(outside, 1)));
        let bits = self.mask_bits(outside);
        let word = self.emit.int(self.mask_width());
        let lane = self.emit.intrinsic("llvm.cttz", &[word], &[bits, self.emit.int_const(1, 0)]);
        let last = self.emit.int_const(self.mask_width(), u64::from(self.lanes) - 1);
        let lane = self.emit.intrinsic("llvm.umin", &[word], &[lane, last]);
        let index = self.wide_index(ty, self.emit.extract_element(indices, lane));
        self.expect(is_inside, index, length);
    }

    /// Ends the run if a condition does not hold, with a record of the violation.
    fn expect(&mut self, condition: Raw, index: Raw, length: Raw) {
        let [violated, after] = ["violated", "verified"].map(|name| self.emit.new_block(name));
        self.emit.cond_br(condition, after, violated);
        self.emit.position_at_end(violated);
        let text = self.access_name();
        let address = self.emit.convert(Conversion::PtrToInt, self.emit.text_address(&text), self.emit.int(64));
        let words: [Raw; RECORD_WORDS] = [address, self.emit.i64(text.len() as u64), index, length];
        let offset = local::scratch_bytes(self.kernel, self.step() as usize) as u64;
        for (word, at) in words.into_iter().zip((offset..).step_by(8)) {
            let place = self.emit.address(self.emit.int(8), self.emit.parameter(3), self.emit.i64(at));
            self.emit.store(word, place, 8);
        }
        self.emit.ret();
        self.emit.position_at_end(after);
    }

    /// A readable name of the kernel and the instruction.
    fn access_name(&self) -> String {
        let hash = encode::content_hash(self.kernel).to_hex();
        match self.instruction {
            Some(inst) => format!("{} {:?} of kernel {}", inst.first, inst.op, &hash[..16]),
            None => format!("kernel {}", &hash[..16]),
        }
    }
}
