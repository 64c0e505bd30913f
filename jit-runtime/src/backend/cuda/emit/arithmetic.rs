//! Operations whose result depends only on their operands, by the kind of their type.

use super::super::ptx::{Class, Operand, Register};
use super::{Code, Emitter};
use crate::ir::{BinaryOp, CompareOp, Op, Type, UnaryOp, Value};

impl Emitter<'_> {
    pub(super) fn arithmetic(&mut self, result: Value, op: &Op) {
        let (ty, d) = (self.ty(result), self.result(result));
        match *op {
            Op::Unary(op, a) => {
                let a = self.operand(a);
                self.unary(op, ty, d, &a);
            }
            Op::Binary(op, a, b) => {
                let [a, b] = [a, b].map(|value| self.operand(value));
                self.binary(op, ty, d, &a, &b);
            }
            Op::Fma(a, b, c) => {
                let operands = [a, b, c].map(|value| self.operand(value));
                if ty.is_float() { self.float_fma(ty, d, &operands) } else { self.integer_fma(ty, d, &operands) }
            }
            Op::Compare(op, a, b) => {
                let (ty, [a, b]) = (self.ty(a), [a, b].map(|value| self.operand(value)));
                self.compare(op, ty, d, &a, &b);
            }
            Op::Select(mask, a, b) => {
                let (mask, [a, b]) = (self.predicate(mask), [a, b].map(|value| self.operand(value)));
                self.select(d, mask, &a, &b);
            }
            Op::Cast(to, a) => {
                let (from, a) = (self.ty(a), self.operand(a));
                self.cast(from, to, d, &a);
            }
            Op::Bitcast(to, a) => {
                let (from, a) = (self.ty(a), self.operand(a));
                self.bitcast(from, to, d, &a);
            }
            _ => unreachable!("operations with effects or regions have code of their own"),
        }
    }
}

impl Code {
    fn unary(&mut self, op: UnaryOp, ty: Type, d: Register, a: &Operand) {
        match ty {
            Type::Bool => self.write_one("not.pred", d, a),
            _ if ty.is_float() => self.float_unary(op, ty, d, a),
            _ => self.integer_unary(op, ty, d, a),
        }
    }

    /// An operation on two values. The register of the result is none of the operands'.
    pub(in crate::backend::cuda) fn binary(&mut self, op: BinaryOp, ty: Type, d: Register, a: &Operand, b: &Operand) {
        match ty {
            Type::Bool => self.write(format!("{}.pred", bit_opcode(op)), d, &[a.clone(), b.clone()]),
            _ if ty.is_float() => self.float_binary(op, ty, d, a, b),
            _ => self.integer_binary(op, ty, d, a, b),
        }
    }

    fn compare(&mut self, op: CompareOp, ty: Type, d: Register, a: &Operand, b: &Operand) {
        match ty {
            Type::Bool => self.compare_bools(op, d, a, b),
            _ if ty.is_float() => {
                let (a, b) = (self.single_or_double(ty, a), self.single_or_double(ty, b));
                // The unordered comparison is true for NaN.
                let name = if op == CompareOp::Ne { "neu" } else { op.name() };
                self.write(format!("setp.{name}.{}", compute_suffix(ty)), d, &[a, b]);
            }
            _ => self.write(format!("setp.{}.{}", op.name(), integer_suffix(ty)), d, &[a.clone(), b.clone()]),
        }
    }

    /// False is below true.
    fn compare_bools(&mut self, op: CompareOp, d: Register, a: &Operand, b: &Operand) {
        let (opcode, first, is_negated) = match op {
            CompareOp::Eq => ("xor.pred", a, true),
            CompareOp::Ne => ("xor.pred", a, false),
            CompareOp::Lt | CompareOp::Ge => ("and.pred", b, op == CompareOp::Ge),
            CompareOp::Gt | CompareOp::Le => ("and.pred", a, op == CompareOp::Le),
        };
        let second = match op {
            CompareOp::Eq | CompareOp::Ne => b.clone(),
            // b > a where b holds and a does not.
            _ => {
                let other = if first == b && op != CompareOp::Gt && op != CompareOp::Le { a } else { b };
                self.compute_one("not.pred", Class::Predicate, other)
            }
        };
        if !is_negated {
            return self.write(opcode, d, &[first.clone(), second]);
        }
        let opposite = self.compute(opcode, Class::Predicate, &[first.clone(), second]);
        self.write("not.pred", d, &[opposite]);
    }

    pub(super) fn select(&mut self, d: Register, mask: Register, a: &Operand, b: &Operand) {
        if d.class != Class::Predicate {
            let opcode = format!("selp.{}", d.class.suffix());
            return self.write(opcode, d, &[a.clone(), b.clone(), mask.into()]);
        }
        let [on, off] = [a, b].map(|operand| self.number_of(operand));
        let number = self.compute("selp.u32", Class::Word, &[on, off, mask.into()]);
        self.write("setp.ne.u32", d, &[number, 0.into()]);
    }

    /// Small integers have other upper bits if their sign differs.
    fn bitcast(&mut self, from: Type, to: Type, d: Register, a: &Operand) {
        match (Class::of(from), d.class) {
            (Class::Word, Class::Word) if to.bits() < 32 => self.extend(to, d, a),
            (Class::Word, Class::Half) => self.write_one("cvt.u16.u32", d, a),
            (Class::Half, Class::Word) if to == Type::I16 => self.write_one("cvt.s32.s16", d, a),
            (Class::Half, Class::Word) => self.write_one("cvt.u32.u16", d, a),
            (_, Class::Single) => self.write_one("mov.b32", d, a),
            (_, Class::Double) => self.write_one("mov.b64", d, a),
            (_, Class::Word) => self.write_one("mov.b32", d, a),
            _ => self.move_to(d, a),
        }
    }
}

/// The opcode of a bitwise operation.
pub(super) fn bit_opcode(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::And => "and",
        BinaryOp::Or => "or",
        _ => "xor",
    }
}

/// The suffix of arithmetic of an integer type: those of up to 32 bits are computed in 32.
pub(super) fn integer_suffix(ty: Type) -> &'static str {
    match (ty.is_signed_integer(), Class::of(ty)) {
        (true, Class::Long) => "s64",
        (false, Class::Long) => "u64",
        (true, _) => "s32",
        (false, _) => "u32",
    }
}

/// The suffix of operations on the bits of an integer type.
pub(super) fn bits_suffix(ty: Type) -> &'static str {
    if Class::of(ty) == Class::Long { "b64" } else { "b32" }
}

/// The suffix of arithmetic of a float type: halves are computed in `f32`.
pub(super) fn compute_suffix(ty: Type) -> &'static str {
    if ty == Type::F64 { "f64" } else { "f32" }
}
