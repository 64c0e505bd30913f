//! Comparisons.

use jit_runtime::ir::CompareOp;

use super::{Array, Element, FloatElement, Integer, Mask, Number, Operand, Promote, Promoted};
use crate::size::Size;

/// The operand that an array of `T` is compared with: an array whose type has a common type with `T`, or a number.
#[diagnostic::on_unimplemented(
    message = "an array of `{T}` cannot be compared with `{Self}`",
    label = "expected an array or a number whose type has a common element type with `{T}`",
    note = "convert with `.cast::<{T}>()`"
)]
pub trait Comparand<T: Element> {
    /// `left op self`
    #[doc(hidden)]
    #[track_caller]
    fn compare_to(self, left: &Array<T>, op: CompareOp) -> Mask;
}

impl<T: Element + Promote<B>, B: Element> Comparand<T> for Array<B> {
    #[inline]
    #[track_caller]
    fn compare_to(self, left: &Array<T>, op: CompareOp) -> Mask {
        mixed(op, left, &self)
    }
}

impl<T: Element + Promote<B>, B: Element> Comparand<T> for &Array<B> {
    #[inline]
    #[track_caller]
    fn compare_to(self, left: &Array<T>, op: CompareOp) -> Mask {
        mixed(op, left, self)
    }
}

#[inline]
#[track_caller]
fn mixed<A: Element + Promote<B>, B: Element>(op: CompareOp, a: &Array<A>, b: &Array<B>) -> Mask {
    a.promoted::<Promoted<A, B>>().compare(op, &b.promoted())
}

/// A number compared with an array, and the type in which they are compared.
macro_rules! numbers {
    ($([$($generics:tt)*] $number:ty, $element:ty => $ty:ty;)*) => {$(
        impl<$($generics)*> Comparand<$element> for $number {
            #[inline]
            #[track_caller]
            fn compare_to(self, left: &Array<$element>, op: CompareOp) -> Mask {
                left.promoted::<$ty>().compare(op, &self.into_array())
            }
        }
    )*};
}

numbers! {
    [T: Element] T, T => T;
    [T: Number] Size, T => T;
    [T: FloatElement] i32, T => T;
    [T: Integer] f32, T => f32;
    [] f32, half::f16 => half::f16;
    [] f32, half::bf16 => half::bf16;
    [] f32, bool => f32;
    [] i32, bool => i32;
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident $op:ident;)*) => {
        impl<T: Element> Array<T> {
            $(
                $(#[$doc])*
                #[inline]
                #[must_use]
                #[track_caller]
                pub fn $name(&self, other: impl Comparand<T>) -> Mask {
                    other.compare_to(self, CompareOp::$op)
                }
            )*
        }
    };
}

comparisons! {
    /// Returns true where `self` is less; false for NaN.
    lt Lt;
    /// Returns true where `self` is less or equal; false for NaN.
    le Le;
    /// Returns true where `self` is greater; false for NaN.
    gt Gt;
    /// Returns true where `self` is greater or equal; false for NaN.
    ge Ge;
    /// Returns true where both are equal; false for NaN.
    eq Eq;
    /// Returns true where they differ; true for NaN.
    ne Ne;
}
