//! Comparisons: Rust's own between host values, lane by lane where an array takes part.
//!
//! Rust's comparison operators give a `bool`, so `#[jit]` turns them into these calls. Host types have one implementation
//! for all that Rust compares with its like, and a list of the pairs of different types in Rust's library.

use half::{bf16, f16};

use crate::array::{Array, Element, FloatElement, Integer, Mask, Number, Promote};
use crate::size::Size;

/// Types that `==` and `!=` compare in a `#[jit]` function.
#[diagnostic::on_unimplemented(
    message = "cannot compare `{Self}` with `{B}` in a `#[jit]` function",
    label = "no comparison `{Self}` == `{B}`",
    note = "arrays are compared with arrays and numbers whose types have a common one (else cast with `.cast::<T>()`); \
            host types with their like, or in a statement marked `#[host]`"
)]
pub trait Equal<B: ?Sized> {
    /// `bool` or a mask.
    type Output;
    /// `self == other`
    #[track_caller]
    fn eq(&self, other: &B) -> Self::Output;
    /// `self != other`
    #[track_caller]
    fn ne(&self, other: &B) -> Self::Output;
}

/// Types that `<`, `<=`, `>` and `>=` compare in a `#[jit]` function.
#[diagnostic::on_unimplemented(
    message = "cannot compare `{Self}` with `{B}` in a `#[jit]` function",
    label = "no order between `{Self}` and `{B}`",
    note = "arrays are compared with arrays and numbers whose types have a common one (else cast with `.cast::<T>()`); \
            host types with their like, or in a statement marked `#[host]`"
)]
pub trait Order<B: ?Sized> {
    /// `bool` or a mask.
    type Output;
    /// `self < other`
    #[track_caller]
    fn lt(&self, other: &B) -> Self::Output;
    /// `self <= other`
    #[track_caller]
    fn le(&self, other: &B) -> Self::Output;
    /// `self > other`
    #[track_caller]
    fn gt(&self, other: &B) -> Self::Output;
    /// `self >= other`
    #[track_caller]
    fn ge(&self, other: &B) -> Self::Output;
}

/// `a == b`
#[inline(always)]
#[track_caller]
pub fn eq<A: Equal<B, Output = R> + ?Sized, B: ?Sized, R>(a: &A, b: &B) -> R {
    a.eq(b)
}

/// `a != b`
#[inline(always)]
#[track_caller]
pub fn ne<A: Equal<B, Output = R> + ?Sized, B: ?Sized, R>(a: &A, b: &B) -> R {
    a.ne(b)
}

/// `a < b`
#[inline(always)]
#[track_caller]
pub fn lt<A: Order<B, Output = R> + ?Sized, B: ?Sized, R>(a: &A, b: &B) -> R {
    a.lt(b)
}

/// `a <= b`
#[inline(always)]
#[track_caller]
pub fn le<A: Order<B, Output = R> + ?Sized, B: ?Sized, R>(a: &A, b: &B) -> R {
    a.le(b)
}

/// `a > b`
#[inline(always)]
#[track_caller]
pub fn gt<A: Order<B, Output = R> + ?Sized, B: ?Sized, R>(a: &A, b: &B) -> R {
    a.gt(b)
}

/// `a >= b`
#[inline(always)]
#[track_caller]
pub fn ge<A: Order<B, Output = R> + ?Sized, B: ?Sized, R>(a: &A, b: &B) -> R {
    a.ge(b)
}

#[diagnostic::do_not_recommend]
impl<T: PartialEq + ?Sized> Equal<T> for T {
    type Output = bool;
    #[inline(always)]
    #[track_caller]
    fn eq(&self, other: &T) -> bool {
        *self == *other
    }
    #[inline(always)]
    #[track_caller]
    fn ne(&self, other: &T) -> bool {
        *self != *other
    }
}

#[diagnostic::do_not_recommend]
impl<T: PartialOrd + ?Sized> Order<T> for T {
    type Output = bool;
    #[inline(always)]
    #[track_caller]
    fn lt(&self, other: &T) -> bool {
        *self < *other
    }
    #[inline(always)]
    #[track_caller]
    fn le(&self, other: &T) -> bool {
        *self <= *other
    }
    #[inline(always)]
    #[track_caller]
    fn gt(&self, other: &T) -> bool {
        *self > *other
    }
    #[inline(always)]
    #[track_caller]
    fn ge(&self, other: &T) -> bool {
        *self >= *other
    }
}

/// Pairs of different types that Rust's library compares.
macro_rules! host_pairs {
    ($([$($generics:tt)*] $a:ty, $b:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> Equal<$b> for $a {
            type Output = bool;
            #[inline(always)]
            #[track_caller]
            fn eq(&self, other: &$b) -> bool {
                *self == *other
            }
            #[inline(always)]
            #[track_caller]
            fn ne(&self, other: &$b) -> bool {
                *self != *other
            }
        }
    )*};
}

host_pairs! {
    [] String, str;
    [] String, &str;
    [] str, String;
    [] &str, String;
    ['a] std::borrow::Cow<'a, str>, str;
    ['a, 'b] std::borrow::Cow<'a, str>, &'b str;
    [T: PartialEq<U>, U, const N: usize] Vec<T>, [U; N];
    [T: PartialEq<U>, U, const N: usize] Vec<T>, &[U; N];
    [T: PartialEq<U>, U] Vec<T>, [U];
    [T: PartialEq<U>, U] Vec<T>, &[U];
    [T: PartialEq<U>, U] [T], Vec<U>;
    [T: PartialEq<U>, U] &[T], Vec<U>;
    [T: PartialEq<U>, U, const N: usize] [T], [U; N];
    [T: PartialEq<U>, U, const N: usize] &[T], [U; N];
    [T: PartialEq<U>, U, const N: usize] [T; N], [U];
    [] Size, usize;
    [] usize, Size;
}

macro_rules! host_orders {
    ($($a:ty, $b:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Order<$b> for $a {
            type Output = bool;
            #[inline(always)]
            #[track_caller]
            fn lt(&self, other: &$b) -> bool {
                *self < *other
            }
            #[inline(always)]
            #[track_caller]
            fn le(&self, other: &$b) -> bool {
                *self <= *other
            }
            #[inline(always)]
            #[track_caller]
            fn gt(&self, other: &$b) -> bool {
                *self > *other
            }
            #[inline(always)]
            #[track_caller]
            fn ge(&self, other: &$b) -> bool {
                *self >= *other
            }
        }
    )*};
}

host_orders! {
    Size, usize;
    usize, Size;
}

/// Comparisons of an array with an array or a number, by value or by reference.
macro_rules! array_pairs {
    ($([$($generics:tt)*] $a:ty, $b:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> Equal<$b> for $a {
            type Output = Mask;
            #[track_caller]
            fn eq(&self, other: &$b) -> Mask {
                Array::eq(self, other.clone())
            }
            #[track_caller]
            fn ne(&self, other: &$b) -> Mask {
                Array::ne(self, other.clone())
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($generics)*> Order<$b> for $a {
            type Output = Mask;
            #[track_caller]
            fn lt(&self, other: &$b) -> Mask {
                Array::lt(self, other.clone())
            }
            #[track_caller]
            fn le(&self, other: &$b) -> Mask {
                Array::le(self, other.clone())
            }
            #[track_caller]
            fn gt(&self, other: &$b) -> Mask {
                Array::gt(self, other.clone())
            }
            #[track_caller]
            fn ge(&self, other: &$b) -> Mask {
                Array::ge(self, other.clone())
            }
        }
    )*};
}

array_pairs! {
    [A: Element + Promote<B>, B: Element] Array<A>, Array<B>;
    [A: Element + Promote<B>, B: Element] Array<A>, &Array<B>;
    [A: Element + Promote<B>, B: Element] &Array<A>, Array<B>;
    [A: Element + Promote<B>, B: Element] &Array<A>, &Array<B>;
    [T: Element] Array<T>, T;
    [T: Element] &Array<T>, T;
    [T: Number] Array<T>, Size;
    [T: Number] &Array<T>, Size;
    [T: FloatElement] Array<T>, i32;
    [T: FloatElement] &Array<T>, i32;
    [T: Integer] Array<T>, f32;
    [T: Integer] &Array<T>, f32;
    [] Array<f16>, f32;
    [] &Array<f16>, f32;
    [] Array<bf16>, f32;
    [] &Array<bf16>, f32;
}

/// Comparisons of a number with an array: the opposite of those above.
macro_rules! number_pairs {
    ($([$($generics:tt)*] $a:ty, $b:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> Equal<$b> for $a {
            type Output = Mask;
            #[track_caller]
            fn eq(&self, other: &$b) -> Mask {
                Array::eq(other, *self)
            }
            #[track_caller]
            fn ne(&self, other: &$b) -> Mask {
                Array::ne(other, *self)
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($generics)*> Order<$b> for $a {
            type Output = Mask;
            #[track_caller]
            fn lt(&self, other: &$b) -> Mask {
                Array::gt(other, *self)
            }
            #[track_caller]
            fn le(&self, other: &$b) -> Mask {
                Array::ge(other, *self)
            }
            #[track_caller]
            fn gt(&self, other: &$b) -> Mask {
                Array::lt(other, *self)
            }
            #[track_caller]
            fn ge(&self, other: &$b) -> Mask {
                Array::le(other, *self)
            }
        }
    )*};
}

number_pairs! {
    [T: Element] T, Array<T>;
    [T: Element] T, &Array<T>;
    [T: Number] Size, Array<T>;
    [T: Number] Size, &Array<T>;
    [T: FloatElement] i32, Array<T>;
    [T: FloatElement] i32, &Array<T>;
    [T: Integer] f32, Array<T>;
    [T: Integer] f32, &Array<T>;
    [] f32, Array<f16>;
    [] f32, &Array<f16>;
    [] f32, Array<bf16>;
    [] f32, &Array<bf16>;
}
