//! The Rust types behind the element types: how they are stored in a carrier, how they widen, how they compare.

use half::{bf16, f16};

use super::CompareFn;
use super::cast::Wide;
use crate::ir::op::CompareOp;

/// A Rust type that an element type represents.
pub(super) trait Element: Copy + PartialOrd {
    /// The widest type of its kind, which holds every value exactly.
    type Wide: Wide;

    /// The value in the low bits of a carrier.
    fn from_carrier(bits: u64) -> Self;

    /// A carrier of the value.
    fn to_carrier(self) -> u64;

    /// The same value in the widest type of its kind.
    fn widen(self) -> Self::Wide;
}

impl Element for bool {
    type Wide = u64;

    #[inline]
    fn from_carrier(bits: u64) -> Self {
        bits & 1 != 0
    }

    #[inline]
    fn to_carrier(self) -> u64 {
        u64::from(self)
    }

    #[inline]
    fn widen(self) -> u64 {
        u64::from(self)
    }
}

macro_rules! integer_element {
    ($wide:ty: $($ty:ty as $unsigned:ty),*) => {$(
        impl Element for $ty {
            type Wide = $wide;

            #[inline]
            fn from_carrier(bits: u64) -> Self {
                bits as $ty
            }

            #[inline]
            fn to_carrier(self) -> u64 {
                self as $unsigned as u64
            }

            #[inline]
            fn widen(self) -> $wide {
                <$wide>::from(self)
            }
        }
    )*};
}

integer_element!(i64: i8 as u8, i16 as u16, i32 as u32, i64 as u64);
integer_element!(u64: u8 as u8, u16 as u16, u32 as u32, u64 as u64);

macro_rules! float_element {
    ($($ty:ty as $bits:ty),*) => {$(
        impl Element for $ty {
            type Wide = f64;

            #[inline]
            fn from_carrier(bits: u64) -> Self {
                <$ty>::from_bits(bits as $bits)
            }

            #[inline]
            fn to_carrier(self) -> u64 {
                u64::from(self.to_bits())
            }

            #[inline]
            fn widen(self) -> f64 {
                f64::from(self)
            }
        }
    )*};
}

float_element!(f16 as u16, bf16 as u16, f32 as u32, f64 as u64);

/// The comparisons; Rust's operators have the meaning of the IR.
pub(super) fn compare<T: Element>(op: CompareOp) -> CompareFn {
    macro_rules! function {
        ($operator:tt) => {
            |a, b| T::from_carrier(a) $operator T::from_carrier(b)
        };
    }
    match op {
        CompareOp::Eq => function!(==),
        CompareOp::Ne => function!(!=),
        CompareOp::Lt => function!(<),
        CompareOp::Le => function!(<=),
        CompareOp::Gt => function!(>),
        CompareOp::Ge => function!(>=),
    }
}
