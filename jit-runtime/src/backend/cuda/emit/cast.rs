//! Conversions by value: Rust's `as`. Floats saturate, and NaN becomes zero. Halves are converted through `f32`.

use super::super::ptx::{Class, Operand, Register};
use super::Code;
use super::arithmetic::{compute_suffix, integer_suffix};
use crate::ir::Type;

impl Code {
    pub(super) fn cast(&mut self, from: Type, to: Type, d: Register, a: &Operand) {
        match (from, to) {
            _ if from == to => self.move_to(d, a),
            (Type::Bool, _) => {
                let number = self.number_of(a);
                self.cast(Type::U32, to, d, &number);
            }
            (_, Type::Bool) if from.is_float() => {
                let a = self.single_or_double(from, a);
                let suffix = compute_suffix(from);
                let zero = if from == Type::F64 { Operand::Double(0) } else { Operand::Single(0) };
                self.write(format!("setp.neu.{suffix}"), d, &[a, zero]);
            }
            (_, Type::Bool) => self.write(format!("setp.ne.{}", integer_suffix(from)), d, &[a.clone(), 0.into()]),
            _ if from.is_float() && to.is_float() => self.between_floats(from, to, d, a),
            _ if from.is_float() => self.float_to_integer(from, to, d, a),
            _ if to.is_float() => self.integer_to_float(from, to, d, a),
            _ => self.between_integers(from, to, d, a),
        }
    }

    fn between_integers(&mut self, from: Type, to: Type, d: Register, a: &Operand) {
        match (Class::of(from), d.class) {
            (Class::Word, Class::Long) => {
                let sign = if from.is_signed_integer() { "s" } else { "u" };
                self.write_one(format!("cvt.{sign}64.{sign}32"), d, a);
            }
            (Class::Long, Class::Word) => {
                let low = self.compute_one("cvt.u32.u64", Class::Word, a);
                self.extend(to, d, &low);
            }
            (Class::Word, _) => self.extend(to, d, a),
            _ => self.move_to(d, a),
        }
    }

    fn between_floats(&mut self, from: Type, to: Type, d: Register, a: &Operand) {
        let a = self.single_or_double(from, a);
        match (from == Type::F64, to) {
            (false, Type::F64) => self.write("cvt.f64.f32", d, &[a]),
            (true, Type::F32) => self.write("cvt.rn.f32.f64", d, &[a]),
            (false, Type::F32) => self.move_to(d, &a),
            (is_double, _) => {
                let single = if is_double { self.compute("cvt.rn.f32.f64", Class::Single, &[a]) } else { a };
                self.round_into(to, d, &single);
            }
        }
    }

    fn round_into(&mut self, to: Type, d: Register, single: &Operand) {
        let half = self.round_to_half(to, single);
        self.move_to(d, &half);
    }

    fn integer_to_float(&mut self, from: Type, to: Type, d: Register, a: &Operand) {
        let opcode = format!("cvt.rn.{}.{}", compute_suffix(to), integer_suffix(from));
        if d.class != Class::Half {
            return self.write_one(opcode, d, a);
        }
        let single = self.compute_one(opcode, Class::Single, a);
        self.round_into(to, d, &single);
    }

    /// The instruction saturates to 32 or 64 bits. NaN becomes zero only from `f32` to 32 bits.
    fn float_to_integer(&mut self, from: Type, to: Type, d: Register, a: &Operand) {
        let a = self.single_or_double(from, a);
        let (source, target) = (compute_suffix(from), integer_suffix(to));
        let mut number = self.compute_one(format!("cvt.rzi.{target}.{source}"), d.class, &a);
        if from == Type::F64 || d.class == Class::Long {
            let is_nan = self.test(format!("setp.nan.{source}"), &a, a.clone());
            number = self.compute(format!("selp.{}", d.class.suffix()), d.class, &[0.into(), number, is_nan.into()]);
        }
        if to.bits() >= 32 {
            return self.move_to(d, &number);
        }
        let (least, most) = match to.is_signed_integer() {
            true => (-(1 << (to.bits() - 1)), (1 << (to.bits() - 1)) - 1),
            false => (0, to.bit_mask().cast_signed()),
        };
        let number = self.compute(format!("max.{target}"), Class::Word, &[number, Operand::Integer(least)]);
        self.write(format!("min.{target}"), d, &[number, Operand::Integer(most)]);
    }
}
