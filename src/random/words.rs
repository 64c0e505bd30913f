//! Conversion of random words to float numbers.

use jit_core::misuse::Misuse;
use jit_runtime::ir::Type;

use crate::Site;
use crate::{Array, FloatElement, UInt, UInt64};

/// Joins two words, the first as the lower half.
#[track_caller]
pub(super) fn join(low: &UInt, high: &UInt) -> UInt64 {
    low.cast::<u64>() | (high.cast::<u64>() << 32)
}

/// Returns a number in [0, 1) that is uniform over the multiples of 2⁻²⁴ (`f32`), 2⁻⁵³ (`f64`), 2⁻¹¹ (`f16`) or 2⁻⁸
/// (`bf16`): the finest grid on which the type is exact everywhere. Only `f64` takes bits of the second word.
#[track_caller]
pub(super) fn unit<T: FloatElement>(low: &UInt, high: &UInt) -> Array<T> {
    let bits = mantissa_bits(T::TYPE);
    let scale = T::from_f64((-f64::from(bits)).exp2());
    if T::TYPE == Type::F64 {
        return (join(low, high) >> u64::from(64 - bits)).cast::<T>() * scale;
    }
    // Signed, which the processor converts faster.
    (low >> (32 - bits)).bitcast::<i32>().cast::<T>() * scale
}

/// Returns a number in (0, 1], for logarithms; finer near zero than [`unit`].
#[track_caller]
pub(super) fn positive_unit<T: FloatElement>(low: &UInt, high: &UInt) -> Array<T> {
    if T::TYPE == Type::F64 {
        return join(low, high).cast::<T>().mul_add(T::from_f64((-64f64).exp2()), T::from_f64((-65f64).exp2()));
    }
    low.cast::<T>().mul_add(T::from_f64((-32f64).exp2()), T::from_f64((-33f64).exp2()))
}

/// Returns whether values of a type are computed in single precision and rounded once, at the end.
pub(super) const fn is_half(ty: Type) -> bool {
    matches!(ty, Type::F16 | Type::BF16)
}

/// Returns the number of bits of the significand, including the leading one.
pub(super) const fn mantissa_bits(ty: Type) -> u32 {
    match ty {
        Type::F16 => 11,
        Type::BF16 => 8,
        Type::F32 => 24,
        _ => 53,
    }
}

/// Returns the smallest positive number.
pub(super) fn smallest_positive(ty: Type) -> f64 {
    let exponent = match ty {
        Type::F16 => -24,
        Type::BF16 => -133,
        Type::F32 => -149,
        _ => -1074,
    };
    2f64.powi(exponent)
}

/// Panics for an impossible request.
#[track_caller]
pub(super) fn refuse(what: String, hint: &str) -> ! {
    Misuse::new(what, Site::here()).hint(hint).panic()
}
