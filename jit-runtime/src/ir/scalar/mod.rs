//! Arithmetic on single values: the semantics of every operation, as a function from carriers to a carrier.
//!
//! A carrier is a `u64` whose low bits are those of the value; the bits above are zero. This module alone determines
//! which operation exists for which type: an operation is legal if its table has a function. The verifier, the front
//! end, constant folding, the interpreter and the generator of random kernels all query it.
//!
//! Invariant: every function is total, and deterministic up to the payload and sign of a NaN. The functions on single
//! values round to nearest and preserve subnormals, whatever the mode of the calling thread. Callers that call many
//! functions by their pointers must set that mode themselves.

mod cast;
mod element;
mod float;
mod integer;

use half::{bf16, f16};

use super::math;
use super::op::{BinaryOp, CompareOp, ReduceOp, UnaryOp};
use super::types::Type;
use crate::float_mode::Standard;

pub use cast::cast_function;

/// A function of one carrier.
pub type UnaryFn = fn(u64) -> u64;
/// A function of two carriers.
pub type BinaryFn = fn(u64, u64) -> u64;
/// A function of three carriers.
pub type TernaryFn = fn(u64, u64, u64) -> u64;
/// A predicate of two carriers.
pub type CompareFn = fn(u64, u64) -> bool;

/// Calls a generic function with the Rust type of an element type.
macro_rules! by_type {
    ($ty:expr, bool: $bool:expr, integer: $integer:ident, float: $float:ident, ($($arg:expr),*)) => {
        match $ty {
            Type::Bool => $bool,
            Type::I8 => $integer::<i8>($($arg),*),
            Type::I16 => $integer::<i16>($($arg),*),
            Type::I32 => $integer::<i32>($($arg),*),
            Type::I64 => $integer::<i64>($($arg),*),
            Type::U8 => $integer::<u8>($($arg),*),
            Type::U16 => $integer::<u16>($($arg),*),
            Type::U32 => $integer::<u32>($($arg),*),
            Type::U64 => $integer::<u64>($($arg),*),
            Type::F16 => $float::<f16>($($arg),*),
            Type::BF16 => $float::<bf16>($($arg),*),
            Type::F32 => $float::<f32>($($arg),*),
            Type::F64 => $float::<f64>($($arg),*),
        }
    };
}

/// The function of an operation on one value, if the type supports it.
#[must_use]
pub fn unary_function(op: UnaryOp, ty: Type) -> Option<UnaryFn> {
    use float::unary as of_float;
    use integer::unary as of_integer;
    if op.is_transcendental() {
        return math::function(op, ty);
    }
    by_type!(ty, bool: bool_unary(op), integer: of_integer, float: of_float, (op))
}

/// The function of an operation on two values, if the type supports it.
#[must_use]
pub fn binary_function(op: BinaryOp, ty: Type) -> Option<BinaryFn> {
    use float::binary as of_float;
    use integer::binary as of_integer;
    if op.is_transcendental() {
        return math::binary_function(op, ty);
    }
    by_type!(ty, bool: bool_binary(op), integer: of_integer, float: of_float, (op))
}

/// The function `a * b + c`, if the type supports it.
#[must_use]
pub fn fma_function(ty: Type) -> Option<TernaryFn> {
    use float::fma as of_float;
    use integer::fma as of_integer;
    by_type!(ty, bool: None, integer: of_integer, float: of_float, ())
}

/// The function of a comparison; every type supports all of them.
#[must_use]
pub fn compare_function(op: CompareOp, ty: Type) -> CompareFn {
    use element::compare as of_element;
    by_type!(ty, bool: of_element::<bool>(op), integer: of_element, float: of_element, (op))
}

/// The function that combines two values in a reduction, if the type supports it.
#[must_use]
pub fn reduce_function(op: ReduceOp, ty: Type) -> Option<BinaryFn> {
    binary_function(op.as_binary(), ty)
}

fn bool_unary(op: UnaryOp) -> Option<UnaryFn> {
    match op {
        UnaryOp::Not => Some(|a| a ^ 1),
        _ => None,
    }
}

fn bool_binary(op: BinaryOp) -> Option<BinaryFn> {
    match op {
        BinaryOp::And => Some(|a, b| a & b),
        BinaryOp::Or => Some(|a, b| a | b),
        BinaryOp::Xor => Some(|a, b| a ^ b),
        _ => None,
    }
}

/// An operation on one value.
///
/// # Panics
///
/// Where the type does not support the operation, see [`is_supported_unary`].
#[must_use]
pub fn unary(op: UnaryOp, ty: Type, a: u64) -> u64 {
    match unary_function(op, ty) {
        Some(function) => in_standard_mode(|| function(a)),
        None => unsupported(&op, ty),
    }
}

/// An operation on two values.
///
/// # Panics
///
/// Where the type does not support the operation, see [`is_supported_binary`].
#[must_use]
pub fn binary(op: BinaryOp, ty: Type, a: u64, b: u64) -> u64 {
    match binary_function(op, ty) {
        Some(function) => in_standard_mode(|| function(a, b)),
        None => unsupported(&op, ty),
    }
}

/// `a * b + c`, rounded once for floats.
///
/// # Panics
///
/// Where the type does not support it, see [`is_supported_fma`].
#[must_use]
pub fn fma(ty: Type, a: u64, b: u64, c: u64) -> u64 {
    match fma_function(ty) {
        Some(function) => in_standard_mode(|| function(a, b, c)),
        None => unsupported(&"Fma", ty),
    }
}

/// A comparison.
#[must_use]
pub fn compare(op: CompareOp, ty: Type, a: u64, b: u64) -> bool {
    in_standard_mode(|| compare_function(op, ty)(a, b))
}

/// The second operand where the first is true, otherwise the third.
#[must_use]
pub fn select(mask: u64, a: u64, b: u64) -> u64 {
    if mask != 0 { a } else { b }
}

/// Conversion by value.
#[must_use]
pub fn cast(from: Type, to: Type, bits: u64) -> u64 {
    in_standard_mode(|| cast_function(from, to)(bits))
}

/// The caller's thread may round differently, or flush subnormals.
#[inline]
fn in_standard_mode<R>(compute: impl FnOnce() -> R) -> R {
    let _mode = Standard::enter();
    compute()
}

/// The same bits as another type of the same size, see [`is_supported_bitcast`].
#[must_use]
pub fn bitcast(to: Type, bits: u64) -> u64 {
    bits & to.bit_mask()
}

/// Combines two values of a reduction.
///
/// # Panics
///
/// Where the type does not support the operation, see [`is_supported_reduce`].
#[must_use]
pub fn reduce(op: ReduceOp, ty: Type, a: u64, b: u64) -> u64 {
    binary(op.as_binary(), ty, a, b)
}

/// Combines partial results: neighbours in pairs, the results of that again in pairs, until one is left. If their
/// number is odd, the last one waits for the next round. So each takes part in few combinations, and sums of many parts
/// have small errors. Without parts the result is the identity. The contents of `parts` are unspecified afterwards.
///
/// # Panics
///
/// Where the type does not support the operation, see [`is_supported_reduce`].
#[must_use]
pub fn reduce_in_pairs(op: ReduceOp, ty: Type, parts: &mut [u64]) -> u64 {
    match reduce_function(op, ty) {
        Some(combine) => in_standard_mode(|| in_pairs(combine, parts)).unwrap_or_else(|| identity(op, ty)),
        None => unsupported(&op, ty),
    }
}

fn in_pairs(combine: BinaryFn, parts: &mut [u64]) -> Option<u64> {
    let mut count = parts.len();
    while count > 1 {
        for pair in 0..count / 2 {
            parts[pair] = combine(parts[2 * pair], parts[2 * pair + 1]);
        }
        if count % 2 == 1 {
            parts[count / 2] = parts[count - 1];
        }
        count = count.div_ceil(2);
    }
    parts.first().copied()
}

/// As [`reduce_in_pairs`] of this many parts that are equal except for the last one. There is at least one.
///
/// # Panics
///
/// As [`reduce_in_pairs`].
#[must_use]
pub fn reduce_equal_in_pairs(op: ReduceOp, ty: Type, mut each: u64, mut last: u64, mut count: usize) -> u64 {
    while count > 1 {
        if count.is_multiple_of(2) {
            last = reduce(op, ty, each, last);
        }
        each = reduce(op, ty, each, each);
        count = count.div_ceil(2);
    }
    last
}

/// The initial value of a reduction, and the result of an empty one. For a sum of floats it is +0.
///
/// # Panics
///
/// Where the type does not support the operation, see [`is_supported_reduce`].
#[must_use]
pub fn identity(op: ReduceOp, ty: Type) -> u64 {
    assert!(is_supported_reduce(op, ty), "{op:?} does not reduce {ty}");
    let all_ones = ty.bit_mask();
    let sign = 1 << (ty.bits() - 1);
    match op {
        ReduceOp::Add | ReduceOp::Or => 0,
        ReduceOp::And => all_ones,
        ReduceOp::Mul => one(ty),
        ReduceOp::Min if ty.is_float() => infinity(ty),
        ReduceOp::Max if ty.is_float() => infinity(ty) | sign,
        ReduceOp::Min if ty.is_signed_integer() => all_ones ^ sign,
        ReduceOp::Max if ty.is_signed_integer() => sign,
        ReduceOp::Min => all_ones,
        ReduceOp::Max => 0,
    }
}

/// The number one, and `true`.
#[inline]
#[must_use]
pub const fn one(ty: Type) -> u64 {
    match ty {
        Type::F16 => f16::ONE.to_bits() as u64,
        Type::BF16 => bf16::ONE.to_bits() as u64,
        Type::F32 => 1f32.to_bits() as u64,
        Type::F64 => 1f64.to_bits(),
        _ => 1,
    }
}

/// Infinity, of a type of floats.
const fn infinity(ty: Type) -> u64 {
    match ty {
        Type::F16 => f16::INFINITY.to_bits() as u64,
        Type::BF16 => bf16::INFINITY.to_bits() as u64,
        Type::F32 => f32::INFINITY.to_bits() as u64,
        _ => f64::INFINITY.to_bits(),
    }
}

/// Whether an operation on one value exists for a type.
#[must_use]
pub fn is_supported_unary(op: UnaryOp, ty: Type) -> bool {
    op.types().contain(ty)
}

/// Whether an operation on two values exists for a type.
#[must_use]
pub fn is_supported_binary(op: BinaryOp, ty: Type) -> bool {
    op.types().contain(ty)
}

/// Whether `a * b + c` exists for a type: all but `bool`.
#[must_use]
pub fn is_supported_fma(ty: Type) -> bool {
    ty != Type::Bool
}

/// Whether a comparison exists for a type: always.
#[must_use]
pub fn is_supported_compare(_op: CompareOp, _ty: Type) -> bool {
    true
}

/// Whether a reduction exists for a type.
#[must_use]
pub fn is_supported_reduce(op: ReduceOp, ty: Type) -> bool {
    is_supported_binary(op.as_binary(), ty)
}

/// Whether a conversion by value exists: between all types.
#[must_use]
pub fn is_supported_cast(_from: Type, _to: Type) -> bool {
    true
}

/// Whether bits of one type may be read as the other: the sizes are equal and neither, or both, are `bool`.
#[must_use]
pub fn is_supported_bitcast(from: Type, to: Type) -> bool {
    from.bits() == to.bits()
}

#[cold]
fn unsupported(op: &dyn std::fmt::Debug, ty: Type) -> ! {
    unreachable!("{op:?} does not exist for {ty}")
}

#[cfg(test)]
mod tests;
