//! Operations on one, two or three values of one type.

use inkwell::llvm_sys::LLVMIntPredicate::*;
use inkwell::llvm_sys::LLVMRealPredicate::*;

use super::Codegen;
use crate::backend::llvm::emit::{Conversion, Raw};
use crate::ir::{BinaryOp, CompareOp, Type, UnaryOp};

impl Codegen<'_> {
    /// A call of an intrinsic that maps values of a type to that type.
    pub(super) fn same_type(&self, name: &'static str, ty: Type, arguments: &[Raw], lanes: u32) -> Raw {
        let ty = self.emit.vector(self.emit.register_type(ty), lanes);
        self.emit.intrinsic(name, &[ty], arguments)
    }

    fn bit(&self, value: bool) -> Raw {
        self.emit.int_const(1, u64::from(value))
    }

    pub(super) fn unary(&self, op: UnaryOp, ty: Type, a: Raw, lanes: u32) -> Raw {
        if ty.is_float() { self.float_unary(op, ty, a, lanes) } else { self.integer_unary(op, ty, a, lanes) }
    }

    fn float_unary(&self, op: UnaryOp, ty: Type, a: Raw, lanes: u32) -> Raw {
        if matches!(ty, Type::F16 | Type::BF16) {
            // The sign is a separate bit: no rounding needed.
            let bits = |value| self.emit.constant(self.emit.int(16), lanes, value);
            match op {
                UnaryOp::Neg => return self.emit.xor(a, bits(0x8000)),
                UnaryOp::Abs => return self.emit.and(a, bits(0x7fff)),
                _ => {}
            }
        }
        let (wide, a) = self.widen(ty, a, lanes);
        let name = match op {
            UnaryOp::Neg => return self.emit.fneg(a),
            UnaryOp::Abs => "llvm.fabs",
            UnaryOp::Sqrt => "llvm.sqrt",
            UnaryOp::Floor => "llvm.floor",
            UnaryOp::Ceil => "llvm.ceil",
            UnaryOp::Round => "llvm.roundeven",
            UnaryOp::Trunc => "llvm.trunc",
            _ => unreachable!("{op:?} of a float is expanded before, or rejected by the verifier"),
        };
        self.narrow(ty, self.same_type(name, wide, &[a], lanes), lanes)
    }

    fn integer_unary(&self, op: UnaryOp, ty: Type, a: Raw, lanes: u32) -> Raw {
        match op {
            UnaryOp::Neg => self.emit.neg(a),
            UnaryOp::Not => self.emit.not(a),
            UnaryOp::Abs if ty.is_signed_integer() => self.same_type("llvm.abs", ty, &[a, self.bit(false)], lanes),
            UnaryOp::Abs => a,
            UnaryOp::CountOnes => self.same_type("llvm.ctpop", ty, &[a], lanes),
            UnaryOp::LeadingZeros => self.same_type("llvm.ctlz", ty, &[a, self.bit(false)], lanes),
            UnaryOp::TrailingZeros => self.same_type("llvm.cttz", ty, &[a, self.bit(false)], lanes),
            UnaryOp::ReverseBits => self.same_type("llvm.bitreverse", ty, &[a], lanes),
            _ => unreachable!("{op:?} of {ty} is rejected by the verifier"),
        }
    }

    /// Emits a binary operation; `constant` is the second operand, if it is known.
    pub(super) fn binary(&self, op: BinaryOp, ty: Type, a: Raw, b: Raw, lanes: u32, constant: Option<u64>) -> Raw {
        if ty.is_float() {
            self.float_binary(op, ty, a, b, lanes)
        } else {
            self.integer_binary(op, ty, a, b, lanes, constant)
        }
    }

    fn float_binary(&self, op: BinaryOp, ty: Type, a: Raw, b: Raw, lanes: u32) -> Raw {
        if op == BinaryOp::CopySign {
            return self.copy_sign(ty, a, b, lanes);
        }
        let ((wide, a), (_, b)) = (self.widen(ty, a, lanes), self.widen(ty, b, lanes));
        let result = match op {
            BinaryOp::Add => self.emit.fadd(a, b),
            BinaryOp::Sub => self.emit.fsub(a, b),
            BinaryOp::Mul => self.emit.fmul(a, b),
            BinaryOp::Div => self.emit.fdiv(a, self.opaque_zero(wide, b, lanes)),
            BinaryOp::Rem => self.emit.frem(a, self.opaque_zero(wide, b, lanes)),
            BinaryOp::Min | BinaryOp::Max => self.minimum_or_maximum(op == BinaryOp::Max, wide, a, b, lanes),
            BinaryOp::FMin | BinaryOp::FMax => self.extreme_number(op == BinaryOp::FMax, wide, a, b, lanes),
            _ => unreachable!("{op:?} of {ty} is rejected by the verifier"),
        };
        self.narrow(ty, result, lanes)
    }

    /// Hides a divisor whose zeros LLVM must not find. If lanes of dividend and divisor are known to be zero, LLVM
    /// assumes that the quotient is zero, too, instead of NaN (`SimplifyDemandedVectorElts`, up to LLVM 22). The fence
    /// emits no instruction.
    fn opaque_zero(&self, ty: Type, divisor: Raw, lanes: u32) -> Raw {
        if lanes == 1 { divisor } else { self.same_type("llvm.arithmetic.fence", ty, &[divisor], lanes) }
    }

    /// IEEE 754-2019 `minimum` or `maximum`. AVX-512 has an instruction that orders zeros but prefers numbers to NaNs.
    /// If an operand is NaN, the sum is NaN too.
    fn minimum_or_maximum(&self, maximum: bool, ty: Type, a: Raw, b: Raw, lanes: u32) -> Raw {
        let e = &self.emit;
        let (name, register_lanes) = match ty {
            Type::F32 => ("llvm.x86.avx512.mask.range.ps.512", 16),
            _ => ("llvm.x86.avx512.mask.range.pd.512", 8),
        };
        if !self.target.has_masks() || lanes != self.lanes || lanes < register_lanes {
            return self.same_type(if maximum { "llvm.maximum" } else { "llvm.minimum" }, ty, &[a, b], lanes);
        }
        // Selects the operand, with the sign of the chosen one; no change of rounding.
        let (choice, rounding) = (e.int_const(32, 4 | u64::from(maximum)), e.int_const(32, 4));
        let all = e.all_ones(e.int(register_lanes));
        let zero = e.zero(e.vector(e.register_type(ty), register_lanes));
        let range = |a, b| e.intrinsic(name, &[], &[a, b, choice, zero, all, rounding]);
        let number = if register_lanes == lanes {
            range(a, b)
        } else {
            let [lower, upper] = [0, 8].map(|first| {
                let half: Vec<u64> = (first..first + 8).collect();
                range(e.shuffle(a, &half), e.shuffle(b, &half))
            });
            e.concatenate(lower, upper, lanes)
        };
        e.select(e.fcmp(LLVMRealUNO, a, b), e.fadd(a, b), number)
    }

    /// IEEE 754-2019 `minimumNumber` or `maximumNumber`: if an operand is NaN, the other one. LLVM's own intrinsic is
    /// right for vectors. For scalars, its x86 code returns NaN if the second operand is NaN.
    fn extreme_number(&self, maximum: bool, ty: Type, a: Raw, b: Raw, lanes: u32) -> Raw {
        if lanes > 1 {
            let name = if maximum { "llvm.maximumnum" } else { "llvm.minimumnum" };
            return self.same_type(name, ty, &[a, b], lanes);
        }
        let e = &self.emit;
        let extreme = self.minimum_or_maximum(maximum, ty, a, b, lanes);
        let of_numbers = e.select(e.fcmp(LLVMRealUNO, b, b), a, extreme);
        e.select(e.fcmp(LLVMRealUNO, a, a), b, of_numbers)
    }

    /// Operates on bits: LLVM's own intrinsic, with its operands in different types after simplification, calls
    /// conversions for which there is no instruction.
    fn copy_sign(&self, ty: Type, a: Raw, b: Raw, lanes: u32) -> Raw {
        let e = &self.emit;
        let integer = e.int(ty.bits());
        let (words, floats) = (e.vector(integer, lanes), e.vector(e.register_type(ty), lanes));
        let is_half = matches!(ty, Type::F16 | Type::BF16);
        let bits = |value| if is_half { value } else { e.convert(Conversion::Bitcast, value, words) };
        let sign = 1 << (ty.bits() - 1);
        let magnitude = e.and(bits(a), e.constant(integer, lanes, sign - 1));
        let result = e.or(magnitude, e.and(bits(b), e.constant(integer, lanes, sign)));
        if is_half { result } else { e.convert(Conversion::Bitcast, result, floats) }
    }

    fn integer_binary(&self, op: BinaryOp, ty: Type, a: Raw, b: Raw, lanes: u32, constant: Option<u64>) -> Raw {
        let signed = ty.is_signed_integer();
        match op {
            BinaryOp::Add => self.emit.add(a, b),
            BinaryOp::Sub => self.emit.sub(a, b),
            BinaryOp::Mul => self.emit.mul(a, b),
            BinaryOp::Div => self.divide(ty, a, b, lanes, constant).0,
            BinaryOp::Rem => self.divide(ty, a, b, lanes, constant).1,
            BinaryOp::Min => self.same_type(if signed { "llvm.smin" } else { "llvm.umin" }, ty, &[a, b], lanes),
            BinaryOp::Max => self.same_type(if signed { "llvm.smax" } else { "llvm.umax" }, ty, &[a, b], lanes),
            BinaryOp::MulHi => self.multiply_high(ty, a, b, lanes),
            BinaryOp::And => self.emit.and(a, b),
            BinaryOp::Or => self.emit.or(a, b),
            BinaryOp::Xor => self.emit.xor(a, b),
            BinaryOp::Shl | BinaryOp::Shr => self.shift(op, ty, a, b, lanes, constant),
            _ => unreachable!("{op:?} of {ty} is rejected by the verifier"),
        }
    }

    /// LLVM's shifts are undefined beyond the width, so those counts are replaced by a select, or clamped if the sign
    /// fills.
    fn shift(&self, op: BinaryOp, ty: Type, a: Raw, b: Raw, lanes: u32, constant: Option<u64>) -> Raw {
        let element = self.emit.register_type(ty);
        let width = u64::from(ty.bits());
        if op == BinaryOp::Shr && ty.is_signed_integer() {
            let last = self.emit.constant(element, lanes, width - 1);
            let count = match constant {
                Some(count) if count < width => b,
                Some(_) => last,
                None => self.same_type("llvm.umin", ty, &[b, last], lanes),
            };
            return self.emit.ashr(a, count);
        }
        let zero = self.emit.constant(element, lanes, 0);
        let shifted = |count| if op == BinaryOp::Shl { self.emit.shl(a, count) } else { self.emit.lshr(a, count) };
        match constant {
            Some(count) if count < width => shifted(b),
            Some(_) => zero,
            None => {
                let inside = self.emit.icmp(LLVMIntULT, b, self.emit.constant(element, lanes, width));
                self.emit.select(inside, shifted(b), zero)
            }
        }
    }

    fn multiply_high(&self, ty: Type, a: Raw, b: Raw, lanes: u32) -> Raw {
        if ty.bits() == 64 {
            return self.multiply_high_64(ty.is_signed_integer(), a, b, lanes);
        }
        let extend = if ty.is_signed_integer() { Conversion::SExt } else { Conversion::ZExt };
        let wide = self.emit.vector(self.emit.int(2 * ty.bits()), lanes);
        let product = self.emit.mul(self.emit.convert(extend, a, wide), self.emit.convert(extend, b, wide));
        let count = self.emit.constant(self.emit.int(2 * ty.bits()), lanes, u64::from(ty.bits()));
        let narrow = self.emit.vector(self.emit.int(ty.bits()), lanes);
        self.emit.convert(Conversion::Trunc, self.emit.lshr(product, count), narrow)
    }

    /// Computed from four products of 32-bit halves, which vector units support (Hacker's Delight §8-2).
    fn multiply_high_64(&self, signed: bool, a: Raw, b: Raw, lanes: u32) -> Raw {
        let e = &self.emit;
        let constant = |value| e.constant(e.int(64), lanes, value);
        let (low, high) = (|x| e.and(x, constant(0xffff_ffff)), |x| e.lshr(x, constant(32)));
        let low_product = e.mul(low(a), low(b));
        let first = e.add(e.mul(high(a), low(b)), high(low_product));
        let second = e.add(e.mul(low(a), high(b)), low(first));
        let unsigned = e.add(e.add(e.mul(high(a), high(b)), high(first)), high(second));
        if !signed {
            return unsigned;
        }
        let correction = |sign, other| e.and(e.ashr(sign, constant(63)), other);
        e.sub(e.sub(unsigned, correction(a, b)), correction(b, a))
    }

    pub(super) fn fma(&self, ty: Type, a: Raw, b: Raw, c: Raw, lanes: u32) -> Raw {
        if !ty.is_float() {
            return self.emit.add(self.emit.mul(a, b), c);
        }
        let (wide, a) = self.widen(ty, a, lanes);
        let ((_, b), (_, c)) = (self.widen(ty, b, lanes), self.widen(ty, c, lanes));
        self.narrow(ty, self.same_type("llvm.fma", wide, &[a, b, c], lanes), lanes)
    }

    pub(super) fn compare(&self, op: CompareOp, ty: Type, a: Raw, b: Raw, lanes: u32) -> Raw {
        if ty == Type::Bool {
            return self.compare_bits(op, a, b);
        }
        if ty.is_float() {
            let ((_, a), (_, b)) = (self.widen(ty, a, lanes), self.widen(ty, b, lanes));
            let predicate = match op {
                CompareOp::Eq => LLVMRealOEQ,
                CompareOp::Ne => LLVMRealUNE,
                CompareOp::Lt => LLVMRealOLT,
                CompareOp::Le => LLVMRealOLE,
                CompareOp::Gt => LLVMRealOGT,
                CompareOp::Ge => LLVMRealOGE,
            };
            return self.emit.fcmp(predicate, a, b);
        }
        let predicate = match (op, ty.is_signed_integer()) {
            (CompareOp::Eq, _) => LLVMIntEQ,
            (CompareOp::Ne, _) => LLVMIntNE,
            (CompareOp::Lt, true) => LLVMIntSLT,
            (CompareOp::Le, true) => LLVMIntSLE,
            (CompareOp::Gt, true) => LLVMIntSGT,
            (CompareOp::Ge, true) => LLVMIntSGE,
            (CompareOp::Lt, false) => LLVMIntULT,
            (CompareOp::Le, false) => LLVMIntULE,
            (CompareOp::Gt, false) => LLVMIntUGT,
            (CompareOp::Ge, false) => LLVMIntUGE,
        };
        self.emit.icmp(predicate, a, b)
    }

    /// Truth values are in mask registers, which support only logical operations.
    fn compare_bits(&self, op: CompareOp, a: Raw, b: Raw) -> Raw {
        let e = &self.emit;
        match op {
            CompareOp::Eq => e.not(e.xor(a, b)),
            CompareOp::Ne => e.xor(a, b),
            CompareOp::Lt => e.and(e.not(a), b),
            CompareOp::Le => e.or(e.not(a), b),
            CompareOp::Gt => e.and(a, e.not(b)),
            CompareOp::Ge => e.or(a, e.not(b)),
        }
    }
}
