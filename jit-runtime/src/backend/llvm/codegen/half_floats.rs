//! Halves in registers are stored as their bits; arithmetic is done in `f32`.

use inkwell::llvm_sys::LLVMIntPredicate::{LLVMIntEQ, LLVMIntUGT, LLVMIntULT};

use super::Codegen;
use crate::backend::llvm::emit::{Conversion, Raw};
use crate::ir::Type;

impl Codegen<'_> {
    /// A float of any type as the type in which it is computed: halves as `f32`.
    pub(super) fn widen(&self, ty: Type, value: Raw, lanes: u32) -> (Type, Raw) {
        match ty {
            Type::F16 => (Type::F32, self.f16_to_f32(value, lanes)),
            Type::BF16 => (Type::F32, self.bf16_to_f32(value, lanes)),
            _ => (ty, value),
        }
    }

    /// The inverse of [`Codegen::widen`], rounding to nearest even.
    pub(super) fn narrow(&self, ty: Type, value: Raw, lanes: u32) -> Raw {
        match ty {
            Type::F16 => self.f32_to_f16(value, lanes),
            Type::BF16 => self.f32_to_bf16(value, lanes),
            _ => value,
        }
    }

    fn words(&self, value: Raw, lanes: u32) -> Raw {
        self.emit.convert(Conversion::ZExt, value, self.emit.vector(self.emit.int(32), lanes))
    }

    fn word(&self, lanes: u32, value: u32) -> Raw {
        self.emit.constant(self.emit.int(32), lanes, u64::from(value))
    }

    fn float_of(&self, words: Raw, lanes: u32) -> Raw {
        self.emit.convert(Conversion::Bitcast, words, self.emit.vector(self.emit.f32(), lanes))
    }

    fn words_of(&self, floats: Raw, lanes: u32) -> Raw {
        self.emit.convert(Conversion::Bitcast, floats, self.emit.vector(self.emit.int(32), lanes))
    }

    fn low_half(&self, words: Raw, lanes: u32) -> Raw {
        self.emit.convert(Conversion::Trunc, words, self.emit.vector(self.emit.int(16), lanes))
    }

    fn bf16_to_f32(&self, value: Raw, lanes: u32) -> Raw {
        let shifted = self.emit.shl(self.words(value, lanes), self.word(lanes, 16));
        self.float_of(shifted, lanes)
    }

    fn f32_to_bf16(&self, value: Raw, lanes: u32) -> Raw {
        let e = &self.emit;
        let words = self.words_of(value, lanes);
        let upper = e.lshr(words, self.word(lanes, 16));
        // To nearest even: add just under half of the last place, and one more if the last place is odd.
        let odd = e.and(upper, self.word(lanes, 1));
        let rounded = e.lshr(e.add(words, e.add(odd, self.word(lanes, 0x7fff))), self.word(lanes, 16));
        let quiet = e.or(upper, self.word(lanes, 0x40));
        let is_nan = e.icmp(LLVMIntUGT, e.and(words, self.word(lanes, 0x7fff_ffff)), self.word(lanes, 0x7f80_0000));
        self.low_half(e.select(is_nan, quiet, rounded), lanes)
    }

    fn f16_to_f32(&self, value: Raw, lanes: u32) -> Raw {
        let e = &self.emit;
        if self.target.converts_f16() {
            let half = e.convert(Conversion::Bitcast, value, e.vector(e.f16(), lanes));
            return e.convert(Conversion::FpExt, half, e.vector(e.f32(), lanes));
        }
        // Move exponent and mantissa into place and multiply by 2^112, which rebiases the exponent and normalises
        // subnormals; infinities and NaNs get the largest exponent. (Fabian Giesen, "Half-float to float", public
        // domain.)
        let words = self.words(value, lanes);
        let magnitude = e.shl(e.and(words, self.word(lanes, 0x7fff)), self.word(lanes, 13));
        let scale = self.float_of(self.word(lanes, (254 - 15) << 23), lanes);
        let scaled = self.words_of(e.fmul(self.float_of(magnitude, lanes), scale), lanes);
        let is_special = e.icmp(LLVMIntUGT, e.and(words, self.word(lanes, 0x7fff)), self.word(lanes, 0x7bff));
        let special = e.or(magnitude, self.word(lanes, 0x7f80_0000));
        let sign = e.shl(e.and(words, self.word(lanes, 0x8000)), self.word(lanes, 16));
        self.float_of(e.or(e.select(is_special, special, scaled), sign), lanes)
    }

    fn f32_to_f16(&self, value: Raw, lanes: u32) -> Raw {
        let e = &self.emit;
        if self.target.converts_f16() {
            let half = e.convert(Conversion::FpTrunc, value, e.vector(e.f16(), lanes));
            return e.convert(Conversion::Bitcast, half, e.vector(e.int(16), lanes));
        }
        // Subnormal results: adding 0.5 lets the adder round at the right place. Normal ones: rebias and round the
        // bits. (Fabian Giesen, "Float to half, rounding to nearest even", public domain.)
        let words = self.words_of(value, lanes);
        let magnitude = e.and(words, self.word(lanes, 0x7fff_ffff));
        let half = self.float_of(self.word(lanes, 0x3f00_0000), lanes);
        let sum = self.words_of(e.fadd(self.float_of(magnitude, lanes), half), lanes);
        let subnormal = e.sub(sum, self.word(lanes, 0x3f00_0000));
        let odd = e.and(e.lshr(magnitude, self.word(lanes, 13)), self.word(lanes, 1));
        let rebias = self.word(lanes, ((15u32.wrapping_sub(127)) << 23).wrapping_add(0xfff));
        let normal = e.lshr(e.add(e.add(magnitude, rebias), odd), self.word(lanes, 13));
        let is_subnormal = e.icmp(LLVMIntULT, magnitude, self.word(lanes, 113 << 23));
        let finite = e.select(is_subnormal, subnormal, normal);
        let is_nan = e.icmp(LLVMIntUGT, magnitude, self.word(lanes, 0x7f80_0000));
        let special = e.select(is_nan, self.word(lanes, 0x7e00), self.word(lanes, 0x7c00));
        let overflows = e.icmp(LLVMIntUGT, magnitude, self.word(lanes, (127 + 16) * (1 << 23) - 1));
        let bits = e.select(overflows, special, finite);
        let sign = e.and(e.lshr(words, self.word(lanes, 16)), self.word(lanes, 0x8000));
        self.low_half(e.or(bits, sign), lanes)
    }

    /// Whether a half is nonzero, which holds for NaN.
    pub(super) fn half_is_nonzero(&self, value: Raw, lanes: u32) -> Raw {
        let e = &self.emit;
        let magnitude = e.and(value, e.constant(e.int(16), lanes, 0x7fff));
        e.not(e.icmp(LLVMIntEQ, magnitude, e.constant(e.int(16), lanes, 0)))
    }
}
