//! Casts by value and reinterpretation of bits.

use inkwell::llvm_sys::LLVMIntPredicate::LLVMIntNE;
use inkwell::llvm_sys::LLVMRealPredicate::LLVMRealUNE;

use super::Codegen;
use crate::backend::llvm::emit::{Conversion, Raw};
use crate::ir::{Type, scalar};

impl Codegen<'_> {
    /// Rust's `as`.
    pub(super) fn cast(&self, from: Type, to: Type, a: Raw, lanes: u32) -> Raw {
        match (from, to) {
            _ if from == to => a,
            (_, Type::Bool) => self.is_nonzero(from, a, lanes),
            (Type::Bool, _) => {
                let one = self.emit.bits_constant(to, lanes, scalar::cast(Type::Bool, to, 1));
                let zero = self.emit.bits_constant(to, lanes, 0);
                self.emit.select(a, one, zero)
            }
            _ if from.is_float() && to.is_float() => self.float_to_float(from, to, a, lanes),
            _ if from.is_float() => self.float_to_integer(from, to, a, lanes),
            _ if to.is_float() => self.integer_to_float(from, to, a, lanes),
            _ => self.integer_to_integer(from, to, a, lanes),
        }
    }

    fn is_nonzero(&self, from: Type, a: Raw, lanes: u32) -> Raw {
        match from {
            Type::F16 | Type::BF16 => self.half_is_nonzero(a, lanes),
            Type::F32 | Type::F64 => self.emit.fcmp(LLVMRealUNE, a, self.emit.float_constant(from, lanes, 0)),
            _ => self.emit.icmp(LLVMIntNE, a, self.emit.bits_constant(from, lanes, 0)),
        }
    }

    pub(super) fn integer_to_integer(&self, from: Type, to: Type, a: Raw, lanes: u32) -> Raw {
        let target = self.emit.vector(self.emit.register_type(to), lanes);
        match (to.bits().cmp(&from.bits()), from.is_signed_integer()) {
            (std::cmp::Ordering::Equal, _) => a,
            (std::cmp::Ordering::Less, _) => self.emit.convert(Conversion::Trunc, a, target),
            (std::cmp::Ordering::Greater, true) => self.emit.convert(Conversion::SExt, a, target),
            (std::cmp::Ordering::Greater, false) => self.emit.convert(Conversion::ZExt, a, target),
        }
    }

    fn integer_to_float(&self, from: Type, to: Type, a: Raw, lanes: u32) -> Raw {
        let conversion = if from.is_signed_integer() { Conversion::SiToFp } else { Conversion::UiToFp };
        let computed_in = if to == Type::F64 { self.emit.f64() } else { self.emit.f32() };
        let value = self.emit.convert(conversion, a, self.emit.vector(computed_in, lanes));
        self.narrow(to, value, lanes)
    }

    fn float_to_integer(&self, from: Type, to: Type, a: Raw, lanes: u32) -> Raw {
        let (wide, a) = self.widen(from, a, lanes);
        let name = if to.is_signed_integer() { "llvm.fptosi.sat" } else { "llvm.fptoui.sat" };
        let target = self.emit.vector(self.emit.register_type(to), lanes);
        self.emit.intrinsic(name, &[target, self.emit.vector(self.emit.register_type(wide), lanes)], &[a])
    }

    fn float_to_float(&self, from: Type, to: Type, a: Raw, lanes: u32) -> Raw {
        let (wide, a) = self.widen(from, a, lanes);
        match (wide, to) {
            (Type::F32, Type::F64) => self.emit.convert(Conversion::FpExt, a, self.emit.vector(self.emit.f64(), lanes)),
            (Type::F64, Type::F64) => a,
            (Type::F64, _) => {
                let single = self.emit.convert(Conversion::FpTrunc, a, self.emit.vector(self.emit.f32(), lanes));
                self.narrow(to, single, lanes)
            }
            _ => self.narrow(to, a, lanes),
        }
    }

    pub(super) fn bitcast(&self, from: Type, to: Type, a: Raw, lanes: u32) -> Raw {
        let (source, target) = (self.emit.register_type(from), self.emit.register_type(to));
        match (from, to) {
            _ if source == target => a,
            // A truth value is one byte in memory and one bit in a register.
            (_, Type::Bool) => self.is_nonzero(from, a, lanes),
            (Type::Bool, _) => self.emit.convert(Conversion::ZExt, a, self.emit.vector(target, lanes)),
            _ => self.emit.convert(Conversion::Bitcast, a, self.emit.vector(target, lanes)),
        }
    }
}
