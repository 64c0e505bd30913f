//! Choosing between two values by a mask.

use half::{bf16, f16};

use super::{Array, Element, FloatElement, Integer, Mask, Operand, Promote, Promoted};
use crate::trace::record;

/// Two values that a mask selects from, arrays or numbers; `R` is their common element type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` and `{B}` cannot both become arrays of `{R}`",
    label = "expected arrays or numbers whose types promote to `{R}`",
    note = "convert one of them with `.cast()`; a number whose type nothing says is an `f64`: write `1.0f32`"
)]
pub trait Choice<B, R: Element> {
    /// Returns both as arrays of the common type.
    #[doc(hidden)]
    #[track_caller]
    fn both(self, other: B) -> (Array<R>, Array<R>);
}

/// Kinds of operands, with the common type of each pair.
macro_rules! choices {
    ($([$($generics:tt)*] $a:ty, $b:ty => $result:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> Choice<$b, $result> for $a {
            #[inline]
            #[track_caller]
            fn both(self, other: $b) -> (Array<$result>, Array<$result>) {
                (self.promoted(), other.promoted())
            }
        }
    )*};
    (numbers $([$($generics:tt)*] $a:ty, $b:ty => $result:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> Choice<$b, $result> for $a {
            #[inline]
            #[track_caller]
            fn both(self, other: $b) -> (Array<$result>, Array<$result>) {
                (Operand::<$result>::into_array(self), Operand::<$result>::into_array(other))
            }
        }
    )*};
    (with_number $([$($generics:tt)*] $array:ty, $number:ty => $result:ty;)*) => {$(
        choices!(with_number_by_reference [$($generics)*] Array<$array>, $number => $result);
        choices!(with_number_by_reference [$($generics)*] &Array<$array>, $number => $result);
    )*};
    (with_number_by_reference [$($generics:tt)*] $array:ty, $number:ty => $result:ty) => {
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> Choice<$number, $result> for $array {
            #[inline]
            #[track_caller]
            fn both(self, other: $number) -> (Array<$result>, Array<$result>) {
                (self.promoted(), other.into_array())
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($generics)*> Choice<$array, $result> for $number {
            #[inline]
            #[track_caller]
            fn both(self, other: $array) -> (Array<$result>, Array<$result>) {
                (self.into_array(), other.promoted())
            }
        }
    };
}

choices! {
    [A: Element + Promote<B>, B: Element] Array<A>, Array<B> => Promoted<A, B>;
    [A: Element + Promote<B>, B: Element] Array<A>, &Array<B> => Promoted<A, B>;
    [A: Element + Promote<B>, B: Element] &Array<A>, Array<B> => Promoted<A, B>;
    [A: Element + Promote<B>, B: Element] &Array<A>, &Array<B> => Promoted<A, B>;
}

choices! { with_number
    [T: Element] T, T => T;
    [T: FloatElement] T, i32 => T;
    [T: Integer] T, f32 => f32;
    [] f16, f32 => f16;
    [] bf16, f32 => bf16;
    [] bool, f32 => f32;
    [] bool, i32 => i32;
}

choices! { numbers
    [T: Element] T, T => T;
    [T: FloatElement] T, i32 => T;
    [T: FloatElement] i32, T => T;
    [T: FloatElement] i32, i32 => T;
    [] f32, f32 => f16;
    [] f32, f32 => bf16;
    [] f32, i32 => f16;
    [] f32, i32 => bf16;
    [] i32, f32 => f16;
    [] i32, f32 => bf16;
}

impl Mask {
    /// Selects the first value where the mask is true, the second where it is false. Values of two types are converted
    /// to the type that they [promote](super::promote) to. Two literals yield `f64` unless something else fixes the
    /// type: write `let x: Float = mask.select(1.0, 0.0);` for `f32`.
    #[must_use]
    #[track_caller]
    pub fn select<A: Choice<B, R>, B, R: Element>(&self, if_true: A, if_false: B) -> Array<R> {
        let (a, b) = if_true.both(if_false);
        Array::recorded(record::select(self.var(), a.var(), b.var()))
    }
}

/// Selects the first value where the mask is true, the second where it is false. Values of two types are converted to
/// the type that they [promote](super::promote) to.
#[must_use]
#[track_caller]
pub fn select<A: Choice<B, R>, B, R: Element>(mask: &Mask, if_true: A, if_false: B) -> Array<R> {
    mask.select(if_true, if_false)
}
