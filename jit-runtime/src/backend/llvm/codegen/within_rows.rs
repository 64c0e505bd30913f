//! Groups of lanes within a row: the condition under which a group is one, and the code for both kinds of groups.
//!
//! The values that only such groups have in a simple form are computed for the first lane. All conditions are about
//! the first and the last lane, in 64 bits, where nothing wraps.

use inkwell::llvm_sys::LLVMIntPredicate::{self, *};

use super::{Codegen, Slot};
use crate::backend::llvm::analysis::Shape;
use crate::backend::llvm::emit::Raw;
use crate::backend::llvm::within_rows::{WithinRows, row_of_mask, row_of_shift};
use crate::ir::{BinaryOp, CompareOp, Op, TOP, Type, Value};

impl<'a> Codegen<'a> {
    /// Computes a whole group: by the code for lanes within a row if it is one, otherwise by that for any lanes.
    pub(super) fn body_of_rows(&mut self, group_start: Raw, rows: &'a WithinRows) {
        let [within, across, after] = ["within", "across", "after"].map(|name| self.emit.new_block(name));
        let general = std::mem::replace(&mut self.analysis, &rows.analysis);
        self.slots.iter_mut().filter(|slot| !slot.in_prologue).for_each(|slot| *slot = Slot::default());
        (self.group_start, self.is_edge, self.mask) = (Some(group_start), false, None);
        self.insts_where(|position| rows.slice.contains(&position));
        let conditions: Vec<Raw> = rows.assumed.iter().flat_map(|&value| self.conditions(value)).collect();
        let all = conditions.into_iter().reduce(|a, b| self.emit.and(a, b));
        let all = all.expect("there is something that only lanes within a row have");
        self.emit.cond_br(all, within, across);

        self.emit.position_at_end(within);
        self.insts_where(|position| !rows.slice.contains(&position));
        self.emit.br(after);

        self.analysis = general;
        self.emit.position_at_end(across);
        self.body(group_start, None);
        self.emit.br(after);
        self.emit.position_at_end(after);
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

    /// The conditions under which a value has the shape that it has within a row.
    fn conditions(&self, value: Value) -> Vec<Raw> {
        let insts = &self.kernel.region(TOP).insts;
        let inst = insts.iter().find(|inst| inst.first == value).expect("only the top region has such values");
        match inst.op {
            Op::Binary(op @ (BinaryOp::Div | BinaryOp::Rem), a, b) => self.is_in_row(op, value, a, b),
            Op::Binary(BinaryOp::And, a, b) => self.is_in_part(a, self.analysis.constant(b).and_then(row_of_mask)),
            Op::Binary(BinaryOp::Shr, a, b) => self.is_in_part(a, self.analysis.constant(b).and_then(row_of_shift)),
            Op::Binary(op, a, b) => {
                let (linear, limit) = if self.is_linear(a) { (a, b) } else { (b, a) };
                let (first, last, limit) = (self.wide(linear), self.last(linear), self.wide(limit));
                let is_linear = match op {
                    BinaryOp::Min => self.emit.icmp(LLVMIntSLE, last, limit),
                    _ => self.emit.icmp(LLVMIntSGE, first, limit),
                };
                vec![self.does_not_wrap(linear), is_linear]
            }
            Op::Compare(op, a, b) => {
                let (linear, is_on_one_side) = match self.is_linear(a) {
                    true => (a, self.is_on_one_side(op, a, b)),
                    false => (b, self.is_on_one_side(op.mirrored(), b, a)),
                };
                vec![self.does_not_wrap(linear), is_on_one_side]
            }
            Op::Cast(_, a) => vec![self.does_not_wrap(a)],
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

    /// The value of the last lane, if no lane wraps.
    fn last(&self, linear: Value) -> Raw {
        self.emit.add(self.wide(linear), self.emit.i64(self.step() - 1))
    }

    /// Whether consecutive values of 32 bits are so in 64 bits, too.
    fn does_not_wrap(&self, linear: Value) -> Raw {
        let most = if self.ty(linear) == Type::I32 { i32::MAX as u64 } else { u32::MAX.into() };
        self.emit.icmp(LLVMIntSLE, self.last(linear), self.emit.i64(most))
    }

    /// Whether the quotients of all lanes are the same: the remainder of the first lane leaves room for the others.
    fn is_in_row(&self, op: BinaryOp, result: Value, a: Value, b: Value) -> Vec<Raw> {
        let e = &self.emit;
        let ty = self.ty(a);
        let remainder = match op {
            BinaryOp::Rem => self.scalar(result),
            _ => e.sub(self.scalar(a), e.mul(self.scalar(result), self.scalar(b))),
        };
        let (remainder, length) = (self.wide_index(ty, remainder), self.wide(b));
        let last = e.add(remainder, self.emit.i64(self.step() - 1));
        let is_at_least_zero = |value: Raw| e.icmp(LLVMIntSGE, value, e.i64(0));
        // If the divisor is zero or negative, no last lane is below it.
        let mut conditions = vec![self.does_not_wrap(a), e.icmp(LLVMIntSLT, last, length)];
        if ty.is_signed_integer() {
            conditions.push(is_at_least_zero(self.wide(a)));
        }
        conditions
    }

    /// Whether all lanes are in one part of a power of two.
    fn is_in_part(&self, a: Value, length: Option<u64>) -> Vec<Raw> {
        let e = &self.emit;
        let length = length.expect("the operand is such a constant");
        let column = e.and(self.wide(a), e.i64(length - 1));
        vec![e.icmp(LLVMIntSLE, e.add(column, e.i64(self.step() - 1)), e.i64(length - 1))]
    }

    /// Whether the comparison of consecutive values with another value has the same result for all of them.
    fn is_on_one_side(&self, op: CompareOp, linear: Value, other: Value) -> Raw {
        let e = &self.emit;
        let (first, last, other) = (self.wide(linear), self.last(linear), self.wide(other));
        let both = |predicate: LLVMIntPredicate| {
            let [first, last] = [first, last].map(|lane| e.icmp(predicate, lane, other));
            e.not(e.xor(first, last))
        };
        match op {
            CompareOp::Eq | CompareOp::Ne => e.or(e.icmp(LLVMIntSLT, other, first), e.icmp(LLVMIntSGT, other, last)),
            CompareOp::Lt | CompareOp::Ge => both(LLVMIntSLT),
            CompareOp::Le | CompareOp::Gt => both(LLVMIntSLE),
        }
    }
}
