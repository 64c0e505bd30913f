//! The element types of library calls, and the operations by which reductions combine them.
//!
//! The operations are those of [`crate::ir::scalar::reduce`]; halves are combined in `f32`.

use std::cell::RefCell;

use half::{bf16, f16};

use crate::backend::filled;

/// The type in which elements are combined: the type itself, or `f32` for halves.
pub(super) trait Sum: Copy + Send + Sync + 'static {
    /// The value in the low bits of a carrier.
    fn to_carrier(self) -> u64;
    /// The value of a carrier.
    fn from_carrier(bits: u64) -> Self;
    /// Calls a function with scratch memory that the thread retains for this purpose. Its contents are arbitrary.
    fn with_scratch<R>(len: usize, function: impl FnOnce(&mut [Self]) -> R) -> R;
}

macro_rules! sums {
    ($($ty:ty: $to:expr, $from:expr;)*) => {$(
        impl Sum for $ty {
            #[inline]
            fn to_carrier(self) -> u64 {
                let to: fn($ty) -> u64 = $to;
                to(self)
            }

            #[inline]
            fn from_carrier(bits: u64) -> Self {
                let from: fn(u64) -> $ty = $from;
                from(bits)
            }

            fn with_scratch<R>(len: usize, function: impl FnOnce(&mut [Self]) -> R) -> R {
                thread_local! {
                    static SCRATCH: RefCell<Vec<$ty>> = const { RefCell::new(Vec::new()) };
                }
                // Nested uses inside the function get separate memory. While a thread ends, no memory is retained.
                let mut scratch = SCRATCH.try_with(RefCell::take).unwrap_or_default();
                if scratch.len() < len {
                    scratch = filled(len, <$ty>::default());
                }
                let result = function(&mut scratch[..len]);
                let _ = SCRATCH.try_with(|kept| kept.replace(scratch));
                result
            }
        }
    )*};
}

sums! {
    u8: |x| u64::from(x), |bits| bits as u8;
    u16: |x| u64::from(x), |bits| bits as u16;
    u32: |x| u64::from(x), |bits| bits as u32;
    u64: |x| x, |bits| bits;
    i8: |x| x as u64, |bits| bits as i8;
    i16: |x| x as u64, |bits| bits as i16;
    i32: |x| x as u64, |bits| bits as i32;
    i64: |x| x as u64, |bits| bits as i64;
    f32: |x| u64::from(x.to_bits()), |bits| f32::from_bits(bits as u32);
    f64: |x| x.to_bits(), f64::from_bits;
}

/// An operation of reductions on an element type.
pub(super) trait Join<T>: 'static {
    /// The type in which values are combined.
    type Sum: Sum;
    /// Whether the result is independent of the order in which values are combined.
    const IS_EXACT: bool;
    /// The identity of the operation.
    const IDENTITY: Self::Sum;

    /// Converts an element to the type in which it is combined.
    fn widen(element: T) -> Self::Sum;
    /// Converts the result to an element, rounded once.
    fn narrow(sum: Self::Sum) -> T;
    /// Both joined.
    fn join(a: Self::Sum, b: Self::Sum) -> Self::Sum;
}

pub(super) struct Add;
pub(super) struct Mul;
pub(super) struct Min;
pub(super) struct Max;
pub(super) struct And;
pub(super) struct Or;

macro_rules! join {
    ($op:ident, $ty:ty, $sum:ty, $exact:expr, $identity:expr, $widen:expr, $narrow:expr, $join:expr) => {
        impl Join<$ty> for $op {
            type Sum = $sum;
            const IS_EXACT: bool = $exact;
            const IDENTITY: $sum = $identity;

            #[inline(always)]
            fn widen(element: $ty) -> $sum {
                let widen: fn($ty) -> $sum = $widen;
                widen(element)
            }

            #[inline(always)]
            fn narrow(sum: $sum) -> $ty {
                let narrow: fn($sum) -> $ty = $narrow;
                narrow(sum)
            }

            #[inline(always)]
            fn join(a: $sum, b: $sum) -> $sum {
                let join: fn($sum, $sum) -> $sum = $join;
                join(a, b)
            }
        }
    };
}

macro_rules! integers {
    ($($ty:ty),*) => {$(
        join!(Add, $ty, $ty, true, 0, |x| x, |x| x, |a, b| a.wrapping_add(b));
        join!(Mul, $ty, $ty, true, 1, |x| x, |x| x, |a, b| a.wrapping_mul(b));
        join!(Min, $ty, $ty, true, <$ty>::MAX, |x| x, |x| x, |a, b| a.min(b));
        join!(Max, $ty, $ty, true, <$ty>::MIN, |x| x, |x| x, |a, b| a.max(b));
        join!(And, $ty, $ty, true, !0, |x| x, |x| x, |a, b| a & b);
        join!(Or, $ty, $ty, true, 0, |x| x, |x| x, |a, b| a | b);
    )*};
}

integers!(u8, u16, u32, u64, i8, i16, i32, i64);

/// A truth value in memory: 0 or 1.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Truth(pub(super) u8);

join!(And, Truth, u8, true, 1, |x| x.0, |x| Truth(x & 1), |a, b| a & b);
join!(Or, Truth, u8, true, 0, |x| x.0, |x| Truth(x & 1), |a, b| a | b);

macro_rules! floats {
    ($($ty:ty, $sum:ident, $widen:expr, $narrow:expr;)*) => {$(
        join!(Add, $ty, $sum, false, 0.0, $widen, $narrow, |a, b| a + b);
        join!(Mul, $ty, $sum, false, 1.0, $widen, $narrow, |a, b| a * b);
        join!(Min, $ty, $sum, true, $sum::INFINITY, $widen, $narrow, |a, b| {
            // IEEE 754-2019 `minimum`: NaN if an operand is NaN, and -0 before +0.
            if a < b { a } else if b < a { b } else if a == b { $sum::from_bits(a.to_bits() | b.to_bits()) }
                else { a + b }
        });
        join!(Max, $ty, $sum, true, $sum::NEG_INFINITY, $widen, $narrow, |a, b| {
            if a > b { a } else if b > a { b } else if a == b { $sum::from_bits(a.to_bits() & b.to_bits()) }
                else { a + b }
        });
    )*};
}

floats! {
    f32, f32, |x| x, |x| x;
    f64, f64, |x| x, |x| x;
    f16, f32, |x| x.to_f32(), f16::from_f32;
    bf16, f32, |x| x.to_f32(), bf16::from_f32;
}
