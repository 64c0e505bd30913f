//! Comparisons: Rust's own between host values, lane by lane if an operand is an array.
//!
//! Rust's comparison operators return a `bool`, so `#[jit]` rewrites them to these calls. Host values have one
//! implementation, for all pairs of types that Rust compares, so type inference works as in Rust. It also requires
//! values that are comparable with their own type; arrays are not, so the implementations for arrays do not overlap
//! with it. A number on the left of an array has an implementation for each type of number; generic code gets it from
//! [`Element`].

use half::{bf16, f16};

use crate::array::{Array, Element, FloatElement, Integer, Mask, Number, Promote};
pub use crate::array::{Equal, Order};
use crate::size::Size;

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
impl<A: PartialEq + PartialEq<B> + ?Sized, B: ?Sized> Equal<B> for A {
    type Output = bool;
    #[inline(always)]
    #[track_caller]
    fn eq(&self, other: &B) -> bool {
        *self == *other
    }
    #[inline(always)]
    #[track_caller]
    fn ne(&self, other: &B) -> bool {
        *self != *other
    }
}

#[diagnostic::do_not_recommend]
impl<A: PartialOrd + PartialOrd<B> + ?Sized, B: ?Sized> Order<B> for A {
    type Output = bool;
    #[inline(always)]
    #[track_caller]
    fn lt(&self, other: &B) -> bool {
        *self < *other
    }
    #[inline(always)]
    #[track_caller]
    fn le(&self, other: &B) -> bool {
        *self <= *other
    }
    #[inline(always)]
    #[track_caller]
    fn gt(&self, other: &B) -> bool {
        *self > *other
    }
    #[inline(always)]
    #[track_caller]
    fn ge(&self, other: &B) -> bool {
        *self >= *other
    }
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

/// Comparisons of a number with an array: the reverse of those above.
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

macro_rules! same_number {
    ($($number:ident)*) => {
        number_pairs! { $([] $number, Array<$number>; [] $number, &Array<$number>;)* }
    };
}

same_number!(bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);

number_pairs! {
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
