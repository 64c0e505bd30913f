//! The second operand of operations on arrays.

use half::{bf16, f16};

use super::{Array, Element, FloatElement, Number, PromotesTo};
use crate::size::Size;
use crate::trace::record;

/// The second operand of an operation on an array of `T`: an array of `T` or of a type that promotes into it, a
/// reference to one, or a number or a reference to one.
#[diagnostic::on_unimplemented(
    message = "an array of `{T}` cannot be combined with `{Self}`",
    label = "expected `Array<{T}>`, `&Array<{T}>`, an array of a type that promotes into it, or `{T}`",
    note = "convert other element types with `.cast::<{T}>()`"
)]
pub trait Operand<T: Element> {
    /// Returns the operand as an array.
    #[track_caller]
    fn into_array(self) -> Array<T>;
}

impl<T: Element, B: Element + PromotesTo<T>> Operand<T> for Array<B> {
    #[inline]
    #[track_caller]
    fn into_array(self) -> Array<T> {
        self.promoted()
    }
}

impl<T: Element, B: Element + PromotesTo<T>> Operand<T> for &Array<B> {
    #[inline]
    #[track_caller]
    fn into_array(self) -> Array<T> {
        self.promoted()
    }
}

impl<T: Element> Operand<T> for T {
    #[inline]
    #[track_caller]
    fn into_array(self) -> Array<T> {
        Array::recorded(record::literal(T::TYPE, self.to_bits(), 1))
    }
}

impl<T: Element> Operand<T> for &T {
    #[inline]
    #[track_caller]
    fn into_array(self) -> Array<T> {
        (*self).into_array()
    }
}

impl<T: FloatElement> Operand<T> for i32 {
    #[inline]
    #[track_caller]
    fn into_array(self) -> Array<T> {
        T::from_f64(f64::from(self)).into_array()
    }
}

/// Converts like [`Array::from`].
impl<T: Number> Operand<T> for Size {
    #[inline]
    #[track_caller]
    fn into_array(self) -> Array<T> {
        Array::from(self)
    }
}

macro_rules! half_with_f32 {
    ($($half:ident),*) => {$(
        impl Operand<$half> for f32 {
            #[inline]
            #[track_caller]
            fn into_array(self) -> Array<$half> {
                $half::from_f32(self).into_array()
            }
        }
    )*};
}

half_with_f32!(f16, bf16);
