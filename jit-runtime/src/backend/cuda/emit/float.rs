//! Arithmetic of floats: to nearest even, with subnormals, never contracted. Halves are computed in `f32` and rounded.

use super::super::ptx::{Class, Operand, Register};
use super::Code;
use super::arithmetic::compute_suffix;
use crate::ir::{BinaryOp, Type, UnaryOp};

const SINGLE_NAN: Operand = Operand::Single(0x7fc0_0000);
const DOUBLE_NAN: Operand = Operand::Double(0x7ff8_0000_0000_0000);

/// The NaN of a type that is computed in.
pub(super) fn nan(class: Class) -> Operand {
    if class == Class::Double { DOUBLE_NAN } else { SINGLE_NAN }
}

impl Code {
    /// The operand in the type that it is computed in: halves are widened.
    pub(super) fn single_or_double(&mut self, ty: Type, a: &Operand) -> Operand {
        if Class::of(ty) == Class::Half { self.widen_half(ty, a) } else { a.clone() }
    }

    /// A half as `f32`.
    pub(in crate::backend::cuda) fn widen_half(&mut self, ty: Type, a: &Operand) -> Operand {
        if ty == Type::F16 {
            return self.compute_one("cvt.f32.f16", Class::Single, a);
        }
        // The upper half of an `f32`.
        let bits = self.compute_one("cvt.u32.u16", Class::Word, a);
        let bits = self.compute("shl.b32", Class::Word, &[bits, 16.into()]);
        self.compute("mov.b32", Class::Single, &[bits])
    }

    /// An `f32` rounded to a half.
    pub(in crate::backend::cuda) fn round_to_half(&mut self, ty: Type, a: &Operand) -> Operand {
        let result = self.register(Class::Half);
        self.write_rounded(ty, result, a);
        result.into()
    }

    fn write_rounded(&mut self, ty: Type, d: Register, a: &Operand) {
        match ty {
            Type::F16 => self.write_one("cvt.rn.f16.f32", d, a),
            _ if self.target.is_ampere() => self.write_one("cvt.rn.bf16.f32", d, a),
            _ => self.round_to_bfloat(d, a),
        }
    }

    /// Adds just less than half of the last place, or exactly half if the last bit is one, and truncates.
    fn round_to_bfloat(&mut self, d: Register, a: &Operand) {
        let bits = self.compute_one("mov.b32", Class::Word, a);
        let shifted = self.compute("shr.u32", Class::Word, &[bits.clone(), 16.into()]);
        let last = self.compute("and.b32", Class::Word, &[shifted, 1.into()]);
        let half = self.compute("add.u32", Class::Word, &[last, 0x7fff.into()]);
        let rounded = self.compute("add.u32", Class::Word, &[bits, half]);
        let upper = self.compute("shr.u32", Class::Word, &[rounded, 16.into()]);
        let is_nan = self.test("setp.nan.f32", a, a.clone());
        let upper = self.compute("selp.b32", Class::Word, &[0x7fc0.into(), upper, is_nan.into()]);
        self.write("cvt.u16.u32", d, &[upper]);
    }

    /// Computes a result in `f32` or `f64` from operands in that type, and rounds it if the type is a half.
    fn in_compute_type(
        &mut self,
        ty: Type,
        d: Register,
        operands: &[&Operand],
        compute: impl FnOnce(&mut Self, Register, &[Operand]),
    ) {
        let operands: Vec<Operand> = operands.iter().map(|operand| self.single_or_double(ty, operand)).collect();
        if d.class != Class::Half {
            return compute(self, d, &operands);
        }
        let result = self.register(Class::Single);
        compute(self, result, &operands);
        self.write_rounded(ty, d, &result.into());
    }

    pub(super) fn float_unary(&mut self, op: UnaryOp, ty: Type, d: Register, a: &Operand) {
        let suffix = compute_suffix(ty);
        let opcode = match op {
            UnaryOp::Neg => return self.with_sign(ty, "xor", sign_bit(ty), d, a),
            UnaryOp::Abs => return self.with_sign(ty, "and", sign_bit(ty) - 1, d, a),
            UnaryOp::Sqrt => format!("sqrt.rn.{suffix}"),
            UnaryOp::Floor => format!("cvt.rmi.{suffix}.{suffix}"),
            UnaryOp::Ceil => format!("cvt.rpi.{suffix}.{suffix}"),
            UnaryOp::Round => format!("cvt.rni.{suffix}.{suffix}"),
            UnaryOp::Trunc => format!("cvt.rzi.{suffix}.{suffix}"),
            _ => unreachable!("{op:?} does not exist for {ty}, or is expanded"),
        };
        self.in_compute_type(ty, d, &[a], |this, d, operands| this.write(opcode, d, operands));
    }

    /// Changes bits, also those of NaNs, whose sign instructions of floats do not specify.
    fn with_sign(&mut self, ty: Type, opcode: &str, mask: u64, d: Register, a: &Operand) {
        let bits = self.bits_of(ty, a);
        let bits = self.compute(format!("{opcode}.b{}", ty.bits()), bits_class(ty), &[bits, literal(ty, mask)]);
        self.write(format!("mov.b{}", ty.bits()), d, &[bits]);
    }

    /// The bits of a float in a register of bits.
    pub(super) fn bits_of(&mut self, ty: Type, a: &Operand) -> Operand {
        if Class::of(ty) == Class::Half {
            return a.clone();
        }
        self.compute_one(format!("mov.b{}", ty.bits()), bits_class(ty), a)
    }

    pub(super) fn float_binary(&mut self, op: BinaryOp, ty: Type, d: Register, a: &Operand, b: &Operand) {
        let suffix = compute_suffix(ty);
        let opcode = match op {
            BinaryOp::CopySign => return self.copy_sign(ty, d, a, b),
            BinaryOp::Rem => {
                return self.in_compute_type(ty, d, &[a, b], |this, d, operands| {
                    this.remainder(d, &operands[0], &operands[1]);
                });
            }
            BinaryOp::Min => return self.minimum(ty, "min", d, a, b),
            BinaryOp::Max => return self.minimum(ty, "max", d, a, b),
            BinaryOp::FMin => format!("min.{suffix}"),
            BinaryOp::FMax => format!("max.{suffix}"),
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div => format!("{}.rn.{suffix}", op.name()),
            _ => unreachable!("{op:?} does not exist for {ty}, or is expanded"),
        };
        self.in_compute_type(ty, d, &[a, b], |this, d, operands| this.write(opcode, d, operands));
    }

    /// The minimum or maximum that is NaN if an operand is. The instructions order signed zeros as the IR does.
    fn minimum(&mut self, ty: Type, name: &str, d: Register, a: &Operand, b: &Operand) {
        let (suffix, is_ampere) = (compute_suffix(ty), self.target.is_ampere());
        self.in_compute_type(ty, d, &[a, b], |this, d, operands| {
            if is_ampere && suffix == "f32" {
                return this.write(format!("{name}.NaN.f32"), d, operands);
            }
            let number = this.compute(format!("{name}.{suffix}"), d.class, operands);
            let has_nan = this.test(format!("setp.nan.{suffix}"), &operands[0], operands[1].clone());
            this.write(format!("selp.{suffix}"), d, &[nan(d.class), number, has_nan.into()]);
        });
    }

    fn copy_sign(&mut self, ty: Type, d: Register, a: &Operand, b: &Operand) {
        let [a, b] = [a, b].map(|operand| self.bits_of(ty, operand));
        let (width, class) = (ty.bits(), bits_class(ty));
        let magnitude = self.compute(format!("and.b{width}"), class, &[a, literal(ty, sign_bit(ty) - 1)]);
        let sign = self.compute(format!("and.b{width}"), class, &[b, literal(ty, sign_bit(ty))]);
        let bits = self.compute(format!("or.b{width}"), class, &[magnitude, sign]);
        self.write(format!("mov.b{width}"), d, &[bits]);
    }

    pub(super) fn float_fma(&mut self, ty: Type, d: Register, operands: &[Operand; 3]) {
        let opcode = format!("fma.rn.{}", compute_suffix(ty));
        let [a, b, c] = operands;
        self.in_compute_type(ty, d, &[a, b, c], |this, d, operands| this.write(opcode, d, operands));
    }
}

/// The class of a register that holds the bits of a float.
pub(super) fn bits_class(ty: Type) -> Class {
    match ty {
        Type::F64 => Class::Long,
        Type::F32 => Class::Word,
        _ => Class::Half,
    }
}

fn sign_bit(ty: Type) -> u64 {
    1 << (ty.bits() - 1)
}

/// A mask of the bits of a type, as the signed number of its width.
fn literal(ty: Type, mask: u64) -> Operand {
    let unused = 64 - ty.bits();
    Operand::Integer((mask << unused).cast_signed() >> unused)
}
