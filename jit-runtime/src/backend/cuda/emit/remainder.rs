//! The exact remainder of floats, which PTX has no instruction for.
//!
//! The significand of the dividend is reduced modulo that of the divisor as an integer, then multiplied by two for each
//! difference of the exponents, as many bits at a time as fit into 64. Every step is exact. (The method of `fmod` in C
//! libraries, with integer division instead of subtraction.)

use super::super::ptx::{Class, Label, Operand, Register};
use super::Code;
use super::float::{bits_class, nan};
use crate::ir::Type;

/// The parts of a float format.
struct Format {
    ty: Type,
    /// The stored bits of the significand.
    significand_bits: u32,
    /// The bits of infinity.
    infinity: i64,
    /// The suffix of its bits as an unsigned number.
    suffix: &'static str,
    width: u32,
}

impl Format {
    fn of(class: Class) -> Format {
        match class {
            Class::Double => {
                let infinity = f64::INFINITY.to_bits().cast_signed();
                Format { ty: Type::F64, significand_bits: 52, infinity, suffix: "u64", width: 64 }
            }
            _ => {
                let infinity = f32::INFINITY.to_bits().into();
                Format { ty: Type::F32, significand_bits: 23, infinity, suffix: "u32", width: 32 }
            }
        }
    }

    /// A significand that is below another one can be shifted by this many bits.
    fn bits_per_step(&self) -> u32 {
        63 - self.significand_bits
    }
}

impl Code {
    /// `a % b` in `f32` or `f64`, by the class of the result.
    pub(super) fn remainder(&mut self, d: Register, a: &Operand, b: &Operand) {
        let format = Format::of(d.class);
        let [a_bits, b_bits] = [a, b].map(|operand| self.bits_of(format.ty, operand));
        let done = self.label("remainder");
        let magnitudes = [&a_bits, &b_bits].map(|bits| self.magnitude(&format, bits));
        self.easy_remainders(&format, d, a, &magnitudes, done);
        let [(a_exponent, a_significand), (b_exponent, b_significand)] =
            magnitudes.each_ref().map(|magnitude| self.split(&format, magnitude));
        let rest = self.shifted_remainder(&format, [a_exponent, b_exponent], [a_significand, b_significand]);
        self.scale(&format, d, &rest, &magnitudes[1], &a_bits);
        self.place(done);
    }

    fn magnitude(&mut self, format: &Format, bits: &Operand) -> Operand {
        let Format { width, .. } = format;
        let mask = Operand::Integer((1i64 << (width - 1)).wrapping_sub(1));
        self.compute(format!("and.b{width}"), bits_class(format.ty), &[bits.clone(), mask])
    }

    /// NaN for operands without remainder; the dividend if it is smaller than the divisor.
    fn easy_remainders(
        &mut self,
        format: &Format,
        d: Register,
        a: &Operand,
        [a_size, b_size]: &[Operand; 2],
        done: Label,
    ) {
        let Format { suffix, infinity, .. } = format;
        let is_infinite = self.test(format!("setp.ge.{suffix}"), a_size, Operand::Integer(*infinity));
        // Zero becomes the largest number, and NaN stays above infinity.
        let below = self.compute(format!("sub.{suffix}"), bits_class(format.ty), &[b_size.clone(), 1.into()]);
        let is_no_divisor = self.test(format!("setp.ge.{suffix}"), &below, Operand::Integer(*infinity));
        let is_nan = self.compute("or.pred", Class::Predicate, &[is_infinite.into(), is_no_divisor.into()]);
        let is_small = self.test(format!("setp.lt.{suffix}"), a_size, b_size.clone());
        self.write(format!("selp.{}", d.class.suffix()), d, &[nan(d.class), a.clone(), is_nan.clone()]);
        let is_done = self.register(Class::Predicate);
        self.write("or.pred", is_done, &[is_nan, is_small.into()]);
        self.branch(Some((is_done, true)), done);
    }

    /// The exponent, one for subnormal numbers as well, and the significand with its implicit bit, in 64 bits.
    fn split(&mut self, format: &Format, magnitude: &Operand) -> (Operand, Operand) {
        let Format { significand_bits, suffix, width, .. } = format;
        let class = bits_class(format.ty);
        let stored = self.compute(format!("shr.{suffix}"), class, &[magnitude.clone(), (*significand_bits).into()]);
        let stored = match class {
            Class::Long => self.compute("cvt.u32.u64", Class::Word, &[stored]),
            _ => stored,
        };
        let exponent = self.compute("max.u32", Class::Word, &[stored.clone(), 1.into()]);
        let implicit = self.compute("min.u32", Class::Word, &[stored, 1.into()]);
        let implicit = self.compute("cvt.u64.u32", Class::Long, &[implicit]);
        let implicit = self.compute("shl.b64", Class::Long, &[implicit, (*significand_bits).into()]);
        let mask = Operand::Integer((1 << significand_bits) - 1);
        let fraction = self.compute(format!("and.b{width}"), class, &[magnitude.clone(), mask]);
        let fraction = match class {
            Class::Long => fraction,
            _ => self.compute("cvt.u64.u32", Class::Long, &[fraction]),
        };
        (exponent, self.compute("or.b64", Class::Long, &[fraction, implicit]))
    }

    /// `a · 2^(a_exponent − b_exponent) mod b`.
    fn shifted_remainder(
        &mut self,
        format: &Format,
        [a_exponent, b_exponent]: [Operand; 2],
        [a, b]: [Operand; 2],
    ) -> Operand {
        let (left, rest) = (self.register(Class::Word), self.register(Class::Long));
        self.write("sub.u32", left, &[a_exponent, b_exponent]);
        self.write("rem.u64", rest, &[a, b.clone()]);
        let (next, end) = (self.label("shift"), self.label("shifted"));
        self.place(next);
        let is_done = self.test("setp.eq.u32", &left.into(), 0);
        self.branch(Some((is_done, true)), end);
        let step = self.compute("min.u32", Class::Word, &[left.into(), format.bits_per_step().into()]);
        let shifted = self.compute("shl.b64", Class::Long, &[rest.into(), step.clone()]);
        self.write("rem.u64", rest, &[shifted, b]);
        self.write("sub.u32", left, &[left.into(), step]);
        self.branch(None, next);
        self.place(end);
        rest.into()
    }

    /// The rest times the unit in the last place of the divisor, with the sign of the dividend.
    fn scale(&mut self, format: &Format, d: Register, rest: &Operand, b_size: &Operand, a_bits: &Operand) {
        let Format { infinity, width, .. } = format;
        let (class, float) = (bits_class(format.ty), d.class.suffix());
        let power = self.compute(format!("and.b{width}"), class, &[b_size.clone(), Operand::Integer(*infinity)]);
        let next = self.compute(format!("or.b{width}"), class, &[power.clone(), 1.into()]);
        let [power, next] = [power, next].map(|bits| self.compute(format!("mov.b{width}"), d.class, &[bits]));
        let unit = self.compute(format!("sub.rn.{float}"), d.class, &[next, power]);
        let rest = self.compute_one(format!("cvt.rn.{float}.u64"), d.class, rest);
        let size = self.compute(format!("mul.rn.{float}"), d.class, &[rest, unit]);
        let size = self.bits_of(format.ty, &size);
        let sign_bit = Operand::Integer(if *width == 64 { i64::MIN } else { i32::MIN.into() });
        let sign = self.compute(format!("and.b{width}"), class, &[a_bits.clone(), sign_bit]);
        let bits = self.compute(format!("or.b{width}"), class, &[size, sign]);
        self.write(format!("mov.b{width}"), d, &[bits]);
    }
}
