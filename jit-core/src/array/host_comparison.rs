//! The compiler's error for Rust's own comparison operators on arrays, outside `#[jit]` functions.
//!
//! `x > 0.0` is a `bool` in Rust, and a comparison of arrays is a mask, so operators cannot compare arrays there.
//! Without an implementation of `PartialOrd` the compiler's error would say no more than that. So there is an
//! implementation for types that [`OperatorsOutsideOfJit`] compares, which are none. The compiler reports this
//! condition and quotes the line that defines the type, with its comment.
//!
//! The condition must fail for every operand type. If it could hold for one type, `x.gt(0.0)` would resolve to Rust's
//! trait where `x` is `&mut Float`, and the compiler would report a different error. `Array<T>: PartialEq` holds for no
//! `T`, so [`Equal`](super::Equal) and [`Order`](super::Order), which `#[jit]` substitutes for operators, use it to
//! distinguish arrays from host values.

use super::{Array, Element};

/// Comparisons of a type with another one.
pub trait Compare<A: ?Sized, B: ?Sized> {
    /// Never called.
    fn refuse(left: &A, right: &B) -> !;
}

/// Rust's operators `==`, `!=`, `<`, `<=`, `>` and `>=` in functions without the attribute.
#[rustfmt::skip]
pub struct OperatorsOutsideOfJit; // Write `x.gt(0.0)`, `x.le(&y)`, `x.eq(&y)`, …, or mark the function `#[jit]`.

/// Makes the compiler explain how to compare arrays where a program uses Rust's operators.
#[doc(hidden)]
#[macro_export]
macro_rules! refuse_rust_comparisons {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        $crate::refuse_rust_comparisons! { @pair [$($generics)*, B: ?Sized] $type, $type, B }
        $crate::refuse_rust_comparisons! { @pair [$($generics)*] $type, &$type, i32 }
        $crate::refuse_rust_comparisons! { @pair [$($generics)*] $type, &$type, f32 }
        $crate::refuse_rust_comparisons! { @pair [$($generics)*] $type, &$type, $type }
    )*};
    (@pair [$($generics:tt)*] $type:ty, $left:ty, $right:ty) => {
        #[doc(hidden)]
        impl<$($generics)*> PartialEq<$right> for $left
        where
            $crate::array::OperatorsOutsideOfJit: $crate::array::Compare<$type, $right>,
        {
            fn eq(&self, other: &$right) -> bool {
                <$crate::array::OperatorsOutsideOfJit as $crate::array::Compare<$type, $right>>::refuse(self, other)
            }
        }

        #[doc(hidden)]
        impl<$($generics)*> PartialOrd<$right> for $left
        where
            $crate::array::OperatorsOutsideOfJit: $crate::array::Compare<$type, $right>,
        {
            fn partial_cmp(&self, other: &$right) -> Option<std::cmp::Ordering> {
                <$crate::array::OperatorsOutsideOfJit as $crate::array::Compare<$type, $right>>::refuse(self, other)
            }
        }
    };
}

refuse_rust_comparisons! {
    [T: Element] Array<T>;
}
