//! Integer division, which never traps and which vector units do not have.
//!
//! Quotients of up to 32 bits are computed in floating point with enough bits that the truncated quotient is exact: the
//! true quotient `a / b` is either an integer or at least `1 / b` away from the next one, which is more than the rounding
//! error for 16-bit operands in 24 bits and for 32-bit operands in 53 bits.

use inkwell::llvm_sys::LLVMIntPredicate::LLVMIntEQ;

use super::Codegen;
use crate::backend::llvm::emit::{Conversion, Raw};
use crate::ir::Type;

impl Codegen<'_> {
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
        // MIN / 1 and MIN % 1 are what MIN / -1 and MIN % -1 shall be.
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
