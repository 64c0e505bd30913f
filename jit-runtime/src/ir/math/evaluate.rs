//! The expansions run on carriers, for constant folding and the interpreter.

use super::{Arithmetic, expand, expand_binary};
use crate::float_mode::Standard;
use crate::ir::op::{BinaryOp, CompareOp, UnaryOp};
use crate::ir::scalar::{self, BinaryFn, UnaryFn};
use crate::ir::types::Type;

/// Evaluates a transcendental function of one value of a float type. Returns the bits that a kernel would compute.
#[must_use]
pub fn evaluate(op: UnaryOp, ty: Type, bits: u64) -> u64 {
    let _mode = Standard::enter();
    expand(&mut Carriers, op, (ty, bits)).1
}

/// Evaluates a transcendental function of two values of a float type. Returns the bits that a kernel would compute.
#[must_use]
pub fn evaluate_binary(op: BinaryOp, ty: Type, a: u64, b: u64) -> u64 {
    let _mode = Standard::enter();
    expand_binary(&mut Carriers, op, (ty, a), (ty, b)).1
}

/// Maps an operation and a float type to a function of the carriers alone.
macro_rules! table {
    ($enum:ident $evaluate:ident $arguments:tt $op:ident $ty:ident: $($variant:ident),*) => {
        match $op {
            $($enum::$variant => table!(@ $enum $evaluate $arguments $ty $variant),)*
            _ => None,
        }
    };
    (@ $enum:ident $evaluate:ident ($($argument:ident),*) $ty:ident $variant:ident) => {
        match $ty {
            Type::F16 => Some(|$($argument),*| $evaluate($enum::$variant, Type::F16, $($argument),*)),
            Type::BF16 => Some(|$($argument),*| $evaluate($enum::$variant, Type::BF16, $($argument),*)),
            Type::F32 => Some(|$($argument),*| $evaluate($enum::$variant, Type::F32, $($argument),*)),
            Type::F64 => Some(|$($argument),*| $evaluate($enum::$variant, Type::F64, $($argument),*)),
            _ => None,
        }
    };
}

/// [`evaluate`] as a function of the carrier alone, if the type is a float.
#[must_use]
pub fn function(op: UnaryOp, ty: Type) -> Option<UnaryFn> {
    table!(UnaryOp evaluate(a) op ty:
        Exp, Exp2, Ln, Log2, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh, ExpM1, Ln1p, Log10,
        Cbrt, Erf, Erfc, Erfinv, Tgamma, Lgamma, Rsqrt,
        FastExp, FastExp2, FastLn, FastLog2, FastLog10, FastSin, FastCos, FastTan, FastAsin, FastAcos, FastAtan,
        FastSinh, FastCosh, FastTanh, FastErf, FastRsqrt)
}

/// [`evaluate_binary`] as a function of the carriers alone, if the type is a float.
#[must_use]
pub fn binary_function(op: BinaryOp, ty: Type) -> Option<BinaryFn> {
    table!(BinaryOp evaluate_binary(a, b) op ty: Hypot, Atan2, Pow, FastHypot, FastAtan2, FastPow)
}

/// The function of an operation that is used by an expansion.
#[inline]
fn legal<F>(function: Option<F>) -> F {
    function.expect("functions are expanded into operations that their type supports")
}

/// Arithmetic on carriers with their types. It runs in the mode of its caller.
struct Carriers;

impl Arithmetic for Carriers {
    type Value = (Type, u64);

    #[inline]
    fn ty(&self, a: Self::Value) -> Type {
        a.0
    }

    #[inline]
    fn constant(&mut self, ty: Type, bits: u64) -> Self::Value {
        (ty, bits)
    }

    #[inline]
    fn unary(&mut self, op: UnaryOp, a: Self::Value) -> Self::Value {
        (a.0, legal(scalar::unary_function(op, a.0))(a.1))
    }

    #[inline]
    fn binary(&mut self, op: BinaryOp, a: Self::Value, b: Self::Value) -> Self::Value {
        (a.0, legal(scalar::binary_function(op, a.0))(a.1, b.1))
    }

    #[inline]
    fn fma(&mut self, a: Self::Value, b: Self::Value, c: Self::Value) -> Self::Value {
        (a.0, legal(scalar::fma_function(a.0))(a.1, b.1, c.1))
    }

    #[inline]
    fn compare(&mut self, op: CompareOp, a: Self::Value, b: Self::Value) -> Self::Value {
        (Type::Bool, u64::from(scalar::compare_function(op, a.0)(a.1, b.1)))
    }

    #[inline]
    fn select(&mut self, mask: Self::Value, a: Self::Value, b: Self::Value) -> Self::Value {
        if mask.1 != 0 { a } else { b }
    }

    #[inline]
    fn cast(&mut self, ty: Type, a: Self::Value) -> Self::Value {
        (ty, scalar::cast_function(a.0, ty)(a.1))
    }

    #[inline]
    fn bitcast(&mut self, ty: Type, a: Self::Value) -> Self::Value {
        (ty, scalar::bitcast(ty, a.1))
    }

    fn rarely<const N: usize>(
        &mut self,
        mask: Self::Value,
        rare: impl FnOnce(&mut Self) -> [Self::Value; N],
        otherwise: [Self::Value; N],
    ) -> [Self::Value; N] {
        if mask.1 != 0 { rare(self) } else { otherwise }
    }
}
