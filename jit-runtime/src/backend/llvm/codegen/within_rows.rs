//! Groups of lanes within a row: the condition under which a group is one, and the code for both kinds of groups.
//!
//! The values that only such groups have in a simple form are computed for the first lane, and so is the number of
//! lanes from there on that have them so. All of it is computed in 64 bits, where nothing wraps. A group that is not
//! within a row is divided into parts that are: its lanes up to the end of the row, those from there on, and the lanes
//! at borders whose neighbours are elsewhere. The code for parts is that within rows, with masks.

use inkwell::llvm_sys::LLVMIntPredicate::{self, *};

use super::{Codegen, Slot};
use crate::backend::llvm::analysis::{Analysis, Shape};
use crate::backend::llvm::emit::Raw;
use crate::backend::llvm::within_rows::{PacketsWithinRows, WithinRows, row_of_mask, row_of_shift};
use crate::ir::{BinaryOp, CompareOp, Op, TOP, Type, Value};

/// The most parts of a packet. The lanes that are left are computed by the code for any lanes.
const MOST_PARTS: u64 = 6;
/// Rows of less than this part of a packet's lanes are not worth a part each.
const SHORT_ROW: u64 = 2;
/// The number of lanes that have a value as in a row, if all lanes have it so: more than any group has.
const ALL: u64 = 1 << 40;

impl<'a> Codegen<'a> {
    /// Computes a whole group: by the code for lanes within a row if it is one, otherwise by that for any lanes.
    pub(super) fn body_of_rows(&mut self, group_start: Raw, rows: &'a WithinRows) {
        let [within, across, after] = ["within", "across", "after"].map(|name| self.emit.new_block(name));
        let general = self.begin_within_rows(group_start, rows);
        let step = self.emit.i64(self.step());
        let lanes = self.lanes_within_row(rows);
        let is_row = lanes.into_iter().map(|lanes| self.emit.icmp(LLVMIntSGE, lanes, step));
        let all =
            is_row.reduce(|a, b| self.emit.and(a, b)).expect("there is something that only lanes within a row have");
        self.emit.cond_br(all, within, across);

        self.emit.position_at_end(within);
        self.insts_where(|position| !rows.slice.contains(&position));
        self.emit.br(after);

        self.analysis = general;
        self.emit.position_at_end(across);
        match &rows.packets {
            Some(packets) => self.packets_of_rows(group_start, packets),
            None if rows.has_parts && self.has_many_lanes() => self.parts_of_rows(group_start, rows),
            None => self.body(group_start, None),
        }
        self.emit.br(after);
        self.emit.position_at_end(after);
    }

    /// Whether a packet has more lanes than words fit into a register: gathering them takes several instructions, each
    /// of which takes longer than the few that a part needs.
    fn has_many_lanes(&self) -> bool {
        self.target.has_masks() && self.lanes * Type::U32.bits() > self.target.register_bits()
    }

    /// Computes what decides whether lanes from the given one on are within a row. Returns the facts about other lanes.
    fn begin_within_rows(&mut self, first: Raw, rows: &'a WithinRows) -> &'a Analysis {
        let general = std::mem::replace(&mut self.analysis, &rows.analysis);
        self.slots.iter_mut().filter(|slot| !slot.in_prologue).for_each(|slot| *slot = Slot::default());
        (self.group_start, self.is_edge, self.mask) = (Some(first), false, None);
        self.insts_where(|position| rows.slice.contains(&position));
        general
    }

    /// Computes a whole group packet by packet, each of which may be within a row.
    fn packets_of_rows(&mut self, group_start: Raw, packets: &'a PacketsWithinRows) {
        let [packet, after] = ["packet", "after_packets"].map(|name| self.emit.new_block(name));
        let (end, lanes) = (self.emit.add(group_start, self.emit.i64(self.step())), u64::from(self.lanes));
        let outer = (self.packets, std::mem::replace(&mut self.analysis, &packets.general));
        self.packets = 1;
        let before = self.emit.block();
        self.emit.br(packet);

        self.emit.position_at_end(packet);
        let lane = self.group_phi(group_start, before);
        self.body_of_rows(lane, &packets.rows);
        let next = self.emit.add(lane, self.emit.i64(lanes));
        let is_before_end = self.emit.icmp(LLVMIntULT, next, end);
        self.emit.add_incoming(lane, next, self.emit.block());
        self.emit.cond_br(is_before_end, packet, after);
        self.emit.position_at_end(after);
        (self.packets, self.analysis) = outer;
    }

    /// Computes a whole group part by part, each of which is within a row.
    fn parts_of_rows(&mut self, group_start: Raw, rows: &'a WithinRows) {
        let [part, more, rest, after] =
            ["part", "more_parts", "rest", "after_parts"].map(|name| self.emit.new_block(name));
        let end = self.emit.add(group_start, self.emit.i64(self.step()));
        let before = self.emit.block();
        let is_worth_it = self.has_long_rows(rows);
        self.emit.cond_br(is_worth_it, part, rest);

        self.emit.position_at_end(part);
        let (lane, number) = (self.group_phi(group_start, before), self.group_phi(self.emit.i64(1), before));
        let general = self.begin_within_rows(lane, rows);
        let left = self.emit.sub(end, lane);
        let lanes = self.lanes_within_row(rows);
        let lanes = lanes.into_iter().fold(left, |a, b| self.extreme("llvm.smin", a, b));
        // Whatever the conditions are, what is computed for the first lane is right for it.
        let next = self.emit.add(lane, self.extreme("llvm.smax", lanes, self.emit.i64(1)));
        self.mask = Some(self.mask_of(lane, [lane, next]));
        self.is_part = true;
        self.insts_where(|position| !rows.slice.contains(&position));
        (self.is_part, self.mask, self.analysis) = (false, None, general);
        self.emit.cond_br(self.emit.icmp(LLVMIntULT, next, end), more, after);

        self.emit.position_at_end(more);
        self.emit.add_incoming(lane, next, more);
        self.emit.add_incoming(number, self.emit.add(number, self.emit.i64(1)), more);
        self.emit.cond_br(self.emit.icmp(LLVMIntULT, number, self.emit.i64(MOST_PARTS)), part, rest);

        self.emit.position_at_end(rest);
        let first = self.group_phi(group_start, before);
        self.emit.add_incoming(first, next, more);
        let mask = self.mask_of(group_start, [first, end]);
        self.body(group_start, Some(mask));
        self.emit.br(after);
        self.emit.position_at_end(after);
    }

    /// Whether the rows whose length is known before the first lane are as long as parts should be.
    fn has_long_rows(&self, rows: &WithinRows) -> Raw {
        let short = self.emit.i64(u64::from(self.lanes) / SHORT_ROW);
        let insts = &self.kernel.region(TOP).insts;
        let lengths = insts.iter().filter(|inst| rows.assumed.contains(&inst.first)).filter_map(|inst| match inst.op {
            Op::Binary(BinaryOp::Div | BinaryOp::Rem, _, length) if self.slots[length.index()].in_prologue => {
                Some(length)
            }
            _ => None,
        });
        let is_long = |length: Value| self.emit.icmp(LLVMIntSGE, self.wide(length), short);
        lengths.map(is_long).fold(self.emit.int_const(1, 1), |a, b| self.emit.and(a, b))
    }

    fn extreme(&self, name: &'static str, a: Raw, b: Raw) -> Raw {
        self.emit.intrinsic(name, &[self.emit.int(64)], &[a, b])
    }

    /// Generates the code for some instructions of the top region, by position, besides those of the prologue.
    fn insts_where(&mut self, is_wanted: impl Fn(usize) -> bool) {
        let kernel = self.kernel;
        for (position, inst) in kernel.region(TOP).insts.iter().enumerate() {
            if !self.analysis.hoisted[position] && is_wanted(position) {
                self.inst(inst);
            }
        }
    }

    /// The numbers of lanes from the first one on in which values have the shapes that they have within a row: each as
    /// a signed number, which may be larger than a group or below one. A group is within a row if none is smaller.
    fn lanes_within_row(&self, rows: &WithinRows) -> Vec<Raw> {
        rows.assumed.iter().flat_map(|&value| self.lanes_of_shape(value)).collect()
    }

    fn lanes_of_shape(&self, value: Value) -> Vec<Raw> {
        let insts = &self.kernel.region(TOP).insts;
        let inst = insts.iter().find(|inst| inst.first == value).expect("only the top region has such values");
        match inst.op {
            Op::Binary(op @ (BinaryOp::Div | BinaryOp::Rem), a, b) => self.lanes_in_row(op, value, a, b),
            Op::Binary(BinaryOp::And, a, b) => self.lanes_in_part(a, self.analysis.constant(b).and_then(row_of_mask)),
            Op::Binary(BinaryOp::Shr, a, b) => self.lanes_in_part(a, self.analysis.constant(b).and_then(row_of_shift)),
            Op::Binary(op, a, b) => {
                let (linear, limit) = if self.is_linear(a) { (a, b) } else { (b, a) };
                let (first, limit) = (self.wide(linear), self.wide(limit));
                let lanes = match op {
                    BinaryOp::Min => self.distance(first, limit, 1),
                    // Lanes below the limit are no neighbours, and those that follow are above it, if one is.
                    _ => self.if_or_all(LLVMIntSLT, first, limit, self.emit.i64(0)),
                };
                vec![self.lanes_until_wrap(linear), lanes]
            }
            Op::Compare(op, a, b) => {
                let (linear, lanes) = match self.is_linear(a) {
                    true => (a, self.lanes_on_one_side(op, a, b)),
                    false => (b, self.lanes_on_one_side(op.mirrored(), b, a)),
                };
                vec![self.lanes_until_wrap(linear), lanes]
            }
            Op::Cast(_, a) => vec![self.lanes_until_wrap(a)],
            _ => unreachable!("no other operation has another shape within a row"),
        }
    }

    fn is_linear(&self, value: Value) -> bool {
        matches!(self.analysis.shape(value), Shape::Linear { .. })
    }

    /// The value of the first lane in 64 bits.
    fn wide(&self, value: Value) -> Raw {
        self.wide_index(self.ty(value), self.scalar(value))
    }

    /// The number of consecutive values from one on to another one, plus some.
    fn distance(&self, first: Raw, end: Raw, more: u64) -> Raw {
        self.emit.add(self.emit.sub(end, first), self.emit.i64(more))
    }

    /// A number of lanes if a comparison holds for the first one; otherwise all.
    fn if_or_all(&self, predicate: LLVMIntPredicate, first: Raw, other: Raw, lanes: Raw) -> Raw {
        self.emit.select(self.emit.icmp(predicate, first, other), lanes, self.emit.i64(ALL))
    }

    /// The lanes in which consecutive values of 32 bits are so in 64 bits, too.
    fn lanes_until_wrap(&self, linear: Value) -> Raw {
        let most = if self.ty(linear) == Type::I32 { i32::MAX as u64 } else { u32::MAX.into() };
        self.distance(self.wide(linear), self.emit.i64(most), 1)
    }

    /// The lanes with the same quotient: as many as the first one's remainder leaves room for.
    fn lanes_in_row(&self, op: BinaryOp, result: Value, a: Value, b: Value) -> Vec<Raw> {
        let e = &self.emit;
        let ty = self.ty(a);
        let remainder = match op {
            BinaryOp::Rem => self.scalar(result),
            _ => e.sub(self.scalar(a), e.mul(self.scalar(result), self.scalar(b))),
        };
        // If the divisor is zero or negative, no lane is below it.
        let mut lanes = self.distance(self.wide_index(ty, remainder), self.wide(b), 0);
        if ty.is_signed_integer() {
            let is_at_least_zero = e.icmp(LLVMIntSGE, self.wide(a), e.i64(0));
            lanes = e.select(is_at_least_zero, lanes, e.i64(0));
        }
        vec![self.lanes_until_wrap(a), lanes]
    }

    /// The lanes in one part of a power of two.
    fn lanes_in_part(&self, a: Value, length: Option<u64>) -> Vec<Raw> {
        let length = length.expect("the operand is such a constant");
        let column = self.emit.and(self.wide(a), self.emit.i64(length - 1));
        vec![self.distance(column, self.emit.i64(length), 0)]
    }

    /// The lanes for which the comparison of consecutive values with another value has the result of the first one.
    fn lanes_on_one_side(&self, op: CompareOp, linear: Value, other: Value) -> Raw {
        let (first, other) = (self.wide(linear), self.wide(other));
        match op {
            CompareOp::Lt | CompareOp::Ge => self.if_or_all(LLVMIntSLT, first, other, self.distance(first, other, 0)),
            CompareOp::Le | CompareOp::Gt => self.if_or_all(LLVMIntSLE, first, other, self.distance(first, other, 1)),
            CompareOp::Eq | CompareOp::Ne => {
                let lanes = self.extreme("llvm.smax", self.distance(first, other, 0), self.emit.i64(1));
                self.if_or_all(LLVMIntSLE, first, other, lanes)
            }
        }
    }
}
