//! Integer division, which never traps and which vector units do not support.
//!
//! Quotients of up to 32 bits are computed in floating point with enough bits that the truncated quotient is exact. The
//! true quotient `a / b` is either an integer or at least `1 / b` away from the next one. That exceeds the rounding
//! error for 16-bit operands in 24 bits and for 32-bit operands in 53 bits.
//!
//! A shared divisor is inverted once, before the first lane. With `a + 1/2` instead of `a`, no quotient is closer than
//! `1 / 2b` to an integer, and the error of the two roundings is less than `1 / 2^20 b`.

use inkwell::llvm_sys::LLVMIntPredicate::LLVMIntEQ;

use super::Codegen;
use crate::backend::llvm::emit::{Conversion, Emitter, Raw};
use crate::ir::{BinaryOp, Type, Value};

/// The values that are computed once for a shared divisor, in all lanes.
#[derive(Clone, Copy)]
pub(super) struct SharedDivisor {
    reciprocal: Raw,
    /// The divisor, with zero replaced by one.
    divisor: Raw,
    /// All bits of zero.
    by_zero: Raw,
}

impl Codegen<'_> {
    /// The divisor of an operation, if all lanes share it and it is not a constant.
    pub(super) fn shared_divisor(&mut self, op: BinaryOp, value: Value) -> Option<SharedDivisor> {
        let is_division = matches!(op, BinaryOp::Div | BinaryOp::Rem) && self.ty(value) == Type::U32;
        let slot = &self.slots[value.index()];
        if !is_division || self.analysis.constant(value).is_some() || slot.linear || !slot.in_prologue {
            return None;
        }
        let scalar = slot.scalar?;
        Some(*self.shared_divisors.entry(value).or_insert_with(|| SharedDivisor::new(&self.emit, scalar, self.lanes)))
    }

    /// Quotient or remainder of unsigned 32-bit numbers.
    pub(super) fn divide_by_shared(&self, op: BinaryOp, a: Raw, by: SharedDivisor) -> Raw {
        let (e, lanes) = (&self.emit, self.lanes);
        let (float, integer) = (e.vector(e.f64(), lanes), e.vector(e.int(32), lanes));
        let half = e.float_constant(Type::F64, lanes, 0.5_f64.to_bits());
        let quotient = e.fmul(e.fadd(e.convert(Conversion::UiToFp, a, float), half), by.reciprocal);
        let quotient = e.convert(Conversion::FpToUi, quotient, integer);
        match op {
            BinaryOp::Div => e.or(quotient, by.by_zero),
            _ => e.or(e.sub(a, e.mul(quotient, by.divisor)), e.and(a, by.by_zero)),
        }
    }

    /// Quotient and remainder. `constant` is the divisor, if it is known.
    pub(super) fn divide(&self, ty: Type, a: Raw, b: Raw, lanes: u32, constant: Option<u64>) -> (Raw, Raw) {
        let e = &self.emit;
        let value = |bits: u64| e.constant(e.register_type(ty), lanes, bits & ty.bit_mask());
        let traps = constant == Some(0) || (ty.is_signed_integer() && constant == Some(ty.bit_mask()));
        if constant.is_some() && !traps {
            return self.divide_directly(ty, a, b);
        }
        let by_zero = e.icmp(LLVMIntEQ, b, value(0));
        let mut unsafe_divisor = by_zero;
        if ty.is_signed_integer() {
            let is_min = e.icmp(LLVMIntEQ, a, value(1 << (ty.bits() - 1)));
            let overflows = e.and(is_min, e.icmp(LLVMIntEQ, b, value(u64::MAX)));
            unsafe_divisor = e.or(by_zero, overflows);
        }
        // MIN / 1 and MIN % 1 are the specified results of MIN / -1 and MIN % -1.
        let divisor = e.select(unsafe_divisor, value(1), b);
        let (quotient, remainder) = if lanes > 1 && ty.bits() <= 32 {
            self.divide_in_floats(ty, a, divisor, lanes)
        } else {
            self.divide_directly(ty, a, divisor)
        };
        (e.select(by_zero, value(u64::MAX), quotient), e.select(by_zero, a, remainder))
    }

    fn divide_directly(&self, ty: Type, a: Raw, b: Raw) -> (Raw, Raw) {
        let e = &self.emit;
        if ty.is_signed_integer() { (e.sdiv(a, b), e.srem(a, b)) } else { (e.udiv(a, b), e.urem(a, b)) }
    }

    fn divide_in_floats(&self, ty: Type, a: Raw, b: Raw, lanes: u32) -> (Raw, Raw) {
        let e = &self.emit;
        let float = e.vector(if ty.bits() == 32 { e.f64() } else { e.f32() }, lanes);
        // Operands of fewer than 32 bits are widened first, so that all are converted as 32-bit integers.
        let integer = e.vector(e.int(32), lanes);
        let (extend, to_float, to_integer) = if ty.is_signed_integer() {
            (Conversion::SExt, Conversion::SiToFp, Conversion::FpToSi)
        } else if ty.bits() == 32 {
            (Conversion::ZExt, Conversion::UiToFp, Conversion::FpToUi)
        } else {
            (Conversion::ZExt, Conversion::SiToFp, Conversion::FpToSi)
        };
        let widen = |x| if ty.bits() == 32 { x } else { e.convert(extend, x, integer) };
        let (wide_a, wide_b) = (widen(a), widen(b));
        let quotient = e.fdiv(e.convert(to_float, wide_a, float), e.convert(to_float, wide_b, float));
        let quotient = e.convert(to_integer, quotient, integer);
        let remainder = e.sub(wide_a, e.mul(quotient, wide_b));
        let narrow =
            |x| if ty.bits() == 32 { x } else { e.convert(Conversion::Trunc, x, e.vector(e.int(ty.bits()), lanes)) };
        (narrow(quotient), narrow(remainder))
    }
}

impl SharedDivisor {
    fn new(emit: &Emitter, scalar: Raw, lanes: u32) -> SharedDivisor {
        let mut parts = None;
        emit.after_definition(scalar, |e| {
            let word = e.int(32);
            let is_zero = e.icmp(LLVMIntEQ, scalar, e.constant(word, 1, 0));
            let divisor = e.select(is_zero, e.constant(word, 1, 1), scalar);
            let one = e.float_constant(Type::F64, 1, 1.0_f64.to_bits());
            let reciprocal = e.fdiv(one, e.convert(Conversion::UiToFp, divisor, e.f64()));
            let by_zero = e.convert(Conversion::SExt, is_zero, word);
            parts = Some([reciprocal, divisor, by_zero].map(|part| e.splat(part, lanes)));
            reciprocal
        });
        let [reciprocal, divisor, by_zero] = parts.expect("code that follows a definition is generated at once");
        SharedDivisor { reciprocal, divisor, by_zero }
    }
}
