//! Arithmetic of integers. Those of 8 and 16 bits are computed in 32 bits, and extended again where the result may have
//! other upper bits.

use super::super::ptx::{Class, Operand, Register};
use super::Code;
use super::arithmetic::{bit_opcode, bits_suffix, integer_suffix};
use crate::ir::{BinaryOp, Type, UnaryOp};

impl Code {
    /// The value whose low bits are those of a register, extended to 32 bits.
    pub(super) fn extend(&mut self, ty: Type, d: Register, a: &Operand) {
        match ty {
            Type::I8 => self.write_one("cvt.s32.s8", d, a),
            Type::I16 => self.write_one("cvt.s32.s16", d, a),
            Type::U8 | Type::U16 => self.write("and.b32", d, &[a.clone(), (ty.bit_mask() as u32).into()]),
            _ => self.move_to(d, a),
        }
    }

    /// Appends an instruction whose result may have other upper bits than the type extends to.
    fn write_extended(&mut self, ty: Type, opcode: String, d: Register, sources: &[Operand]) {
        if ty.bits() >= 32 {
            return self.write(opcode, d, sources);
        }
        let wide = self.compute(opcode, Class::Word, sources);
        self.extend(ty, d, &wide);
    }

    /// The value with zeros above its bits.
    fn zero_extended(&mut self, ty: Type, a: &Operand) -> Operand {
        if ty.bits() >= 32 || ty.is_unsigned_integer() {
            return a.clone();
        }
        self.compute("and.b32", Class::Word, &[a.clone(), (ty.bit_mask() as u32).into()])
    }

    pub(super) fn integer_unary(&mut self, op: UnaryOp, ty: Type, d: Register, a: &Operand) {
        let (class, bits) = (Class::of(ty), bits_suffix(ty));
        let signed = if class == Class::Long { "s64" } else { "s32" };
        match op {
            UnaryOp::Neg => self.write_extended(ty, format!("neg.{signed}"), d, std::slice::from_ref(a)),
            UnaryOp::Not => self.write_extended(ty, format!("not.{bits}"), d, std::slice::from_ref(a)),
            // The absolute value of the minimum is not specified, its maximum with its negation is.
            UnaryOp::Abs if ty.is_signed_integer() => {
                let negated = self.compute_one(format!("neg.{signed}"), class, a);
                self.write_extended(ty, format!("max.{signed}"), d, &[a.clone(), negated]);
            }
            UnaryOp::Abs => self.move_to(d, a),
            UnaryOp::CountOnes => {
                let a = self.zero_extended(ty, a);
                self.write_count(ty, "popc", d, &a);
            }
            UnaryOp::LeadingZeros => self.leading_zeros(ty, d, a),
            UnaryOp::TrailingZeros => self.trailing_zeros(ty, d, a),
            UnaryOp::ReverseBits => self.reverse_bits(ty, d, a),
            _ => unreachable!("{op:?} does not exist for {ty}"),
        }
    }

    /// Appends an instruction that counts bits, whose result has 32 bits.
    fn write_count(&mut self, ty: Type, opcode: &str, d: Register, a: &Operand) {
        let opcode = format!("{opcode}.{}", bits_suffix(ty));
        if d.class == Class::Word {
            return self.write_one(opcode, d, a);
        }
        let count = self.compute_one(opcode, Class::Word, a);
        self.write("cvt.u64.u32", d, &[count]);
    }

    fn leading_zeros(&mut self, ty: Type, d: Register, a: &Operand) {
        if ty.bits() >= 32 {
            return self.write_count(ty, "clz", d, a);
        }
        let a = self.zero_extended(ty, a);
        let count = self.compute("clz.b32", Class::Word, &[a]);
        self.write("sub.u32", d, &[count, (32 - ty.bits()).into()]);
    }

    fn trailing_zeros(&mut self, ty: Type, d: Register, a: &Operand) {
        let a = match ty.bits() {
            // A one above the value ends the count.
            bits @ ..32 => self.compute("or.b32", Class::Word, &[a.clone(), (1 << bits).into()]),
            _ => a.clone(),
        };
        let reversed = self.compute(format!("brev.{}", bits_suffix(ty)), d.class, &[a]);
        self.write_count(ty, "clz", d, &reversed);
    }

    fn reverse_bits(&mut self, ty: Type, d: Register, a: &Operand) {
        let opcode = format!("brev.{}", bits_suffix(ty));
        if ty.bits() >= 32 {
            return self.write_one(opcode, d, a);
        }
        let reversed = self.compute_one(opcode, Class::Word, a);
        self.write(format!("shr.{}", integer_suffix(ty)), d, &[reversed, (32 - ty.bits()).into()]);
    }

    pub(super) fn integer_binary(&mut self, op: BinaryOp, ty: Type, d: Register, a: &Operand, b: &Operand) {
        let (suffix, bits, operands) = (integer_suffix(ty), bits_suffix(ty), [a.clone(), b.clone()]);
        match op {
            BinaryOp::Add => self.write_extended(ty, format!("add.{suffix}"), d, &operands),
            BinaryOp::Sub => self.write_extended(ty, format!("sub.{suffix}"), d, &operands),
            BinaryOp::Mul => self.write_extended(ty, format!("mul.lo.{suffix}"), d, &operands),
            BinaryOp::Div | BinaryOp::Rem => self.divide(op, ty, d, a, b),
            BinaryOp::Min | BinaryOp::Max => self.write(format!("{}.{suffix}", op.name()), d, &operands),
            BinaryOp::MulHi if ty.bits() >= 32 => self.write(format!("mul.hi.{suffix}"), d, &operands),
            BinaryOp::MulHi => {
                let product = self.compute(format!("mul.lo.{suffix}"), Class::Word, &operands);
                self.write(format!("shr.{suffix}"), d, &[product, ty.bits().into()]);
            }
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                self.write(format!("{}.{bits}", bit_opcode(op)), d, &operands);
            }
            BinaryOp::Shl | BinaryOp::Shr => self.shift(op, ty, d, a, b),
            _ => unreachable!("{op:?} does not exist for {ty}"),
        }
    }

    /// Counts beyond the width of the instruction shift out every bit, as the IR demands. A negative count of a small
    /// type is such a large one.
    fn shift(&mut self, op: BinaryOp, ty: Type, d: Register, a: &Operand, b: &Operand) {
        let count = match Class::of(ty) {
            Class::Long => {
                let count = self.compute("min.u64", Class::Long, &[b.clone(), 64.into()]);
                self.compute("cvt.u32.u64", Class::Word, &[count])
            }
            _ => b.clone(),
        };
        match op {
            BinaryOp::Shl => self.write_extended(ty, format!("shl.{}", bits_suffix(ty)), d, &[a.clone(), count]),
            _ => self.write(format!("shr.{}", integer_suffix(ty)), d, &[a.clone(), count]),
        }
    }

    /// Divisors for which the result of the instruction is not specified are replaced by one: zero, and -1 of a type
    /// whose minimum has no negation in the width of the instruction.
    fn divide(&mut self, op: BinaryOp, ty: Type, d: Register, a: &Operand, b: &Operand) {
        let (suffix, class, is_quotient) = (integer_suffix(ty), Class::of(ty), op == BinaryOp::Div);
        let is_overflow_possible = ty.is_signed_integer() && ty.bits() >= 32;
        let is_zero = self.test(format!("setp.eq.{suffix}"), b, 0);
        let mut divisor =
            self.compute(format!("selp.{}", bits_suffix(ty)), class, &[1.into(), b.clone(), is_zero.into()]);
        let is_minus_one =
            is_overflow_possible.then(|| self.test(format!("setp.eq.{suffix}"), b, Operand::Integer(-1)));
        if let Some(is_minus_one) = is_minus_one {
            let operands = [1.into(), divisor, is_minus_one.into()];
            divisor = self.compute(format!("selp.{}", bits_suffix(ty)), class, &operands);
        }
        let opcode = format!("{}.{suffix}", op.name());
        let mut result = self.compute(opcode, class, &[a.clone(), divisor]);
        // The remainder of a division by one is zero, as that of a division by -1.
        if let Some(is_minus_one) = is_minus_one.filter(|_| is_quotient) {
            let negated = self.compute_one(format!("neg.{suffix}"), class, a);
            let operands = [negated, result, is_minus_one.into()];
            result = self.compute(format!("selp.{}", bits_suffix(ty)), class, &operands);
        }
        let by_zero = if is_quotient { Operand::Integer(-1) } else { a.clone() };
        let operands = [by_zero, result, is_zero.into()];
        self.write_extended(ty, format!("selp.{}", bits_suffix(ty)), d, &operands);
    }

    pub(super) fn integer_fma(&mut self, ty: Type, d: Register, operands: &[Operand; 3]) {
        self.write_extended(ty, format!("mad.lo.{}", integer_suffix(ty)), d, operands);
    }
}
