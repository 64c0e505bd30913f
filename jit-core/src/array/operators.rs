//! Operators on arrays, references to them, and numbers on either side.

use std::iter::{Product, Sum};
use std::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign, Mul, MulAssign,
    Neg, Not, Rem, RemAssign, Shl, ShlAssign, Shr, ShrAssign, Sub, SubAssign,
};

use half::{bf16, f16};
use jit_runtime::ir::{BinaryOp, Type, UnaryOp};

use super::bits::unsigned;
use super::{Array, Element, FloatElement, Integer, Logic, Number, Operand, Promote, Promoted, PromotesTo, Signed};
use crate::size::Size;
use crate::trace::record;

/// Records an operation on arrays of two types.
#[inline]
#[track_caller]
fn mixed<A: Promote<B> + Element, B: Element>(op: BinaryOp, a: &Array<A>, b: &Array<B>) -> Array<Promoted<A, B>> {
    if A::TYPE == B::TYPE && A::TYPE == <Promoted<A, B>>::TYPE {
        return Array::recorded(record::binary(op, a.var(), b.var()));
    }
    a.promoted().binary(op, &b.promoted())
}

/// Records a bitwise operation on arrays of two types. Combined with an integer, a mask is all ones where it is true.
#[inline]
#[track_caller]
fn mixed_bits<A: Promote<B> + Element, B: Element>(op: BinaryOp, a: &Array<A>, b: &Array<B>) -> Array<Promoted<A, B>> {
    if A::TYPE == B::TYPE && A::TYPE == <Promoted<A, B>>::TYPE {
        return Array::recorded(record::binary(op, a.var(), b.var()));
    }
    bits_as::<A, Promoted<A, B>>(a).binary(op, &bits_as(b))
}

#[track_caller]
fn bits_as<A: Element, T: Element>(a: &Array<A>) -> Array<T> {
    if A::TYPE != Type::Bool || T::TYPE == Type::Bool {
        return a.promoted();
    }
    let [ones, zero] = [T::TYPE.bit_mask(), 0].map(T::from_bits);
    a.promoted::<bool>().select(ones, zero)
}

/// Records a shift by counts of another type. The conversion keeps counts beyond the width beyond it.
#[inline]
#[track_caller]
fn shifted<A: Integer, B: Integer>(op: BinaryOp, a: &Array<A>, count: &Array<B>) -> Array<A> {
    if A::TYPE == B::TYPE {
        return Array::recorded(record::binary(op, a.var(), count.var()));
    }
    let (to, from) = (unsigned(A::TYPE), unsigned(B::TYPE));
    let mut count = record::bitcast(from, count.var());
    if from.bits() > to.bits() {
        count = record::binary(BinaryOp::Min, &count, &record::literal(from, u64::from(to.bits()), 1));
    }
    let count = record::bitcast(A::TYPE, &record::cast(to, &count));
    Array::recorded(record::binary(op, a.var(), &count))
}

/// An operator between arrays, by the function that records it.
macro_rules! array_operator {
    ($trait:ident $method:ident $assign:ident $assign_method:ident $op:ident $function:ident;
     [$($generics:tt)*] $a:ident $b:ident -> $output:ty; [$($assign_generics:tt)*] [$($bounds:tt)*]) => {
        impl<$($generics)*> $trait<Array<$b>> for Array<$a> where $($bounds)* {
            type Output = Array<$output>;

            #[inline]
            #[track_caller]
            fn $method(self, right: Array<$b>) -> Array<$output> {
                $function(BinaryOp::$op, &self, &right)
            }
        }

        impl<$($generics)*> $trait<&Array<$b>> for Array<$a> where $($bounds)* {
            type Output = Array<$output>;

            #[inline]
            #[track_caller]
            fn $method(self, right: &Array<$b>) -> Array<$output> {
                $function(BinaryOp::$op, &self, right)
            }
        }

        impl<$($generics)*> $trait<Array<$b>> for &Array<$a> where $($bounds)* {
            type Output = Array<$output>;

            #[inline]
            #[track_caller]
            fn $method(self, right: Array<$b>) -> Array<$output> {
                $function(BinaryOp::$op, self, &right)
            }
        }

        impl<$($generics)*> $trait<&Array<$b>> for &Array<$a> where $($bounds)* {
            type Output = Array<$output>;

            #[inline]
            #[track_caller]
            fn $method(self, right: &Array<$b>) -> Array<$output> {
                $function(BinaryOp::$op, self, right)
            }
        }

        impl<$($assign_generics)*> $assign<Array<B>> for Array<A> {
            #[inline]
            #[track_caller]
            fn $assign_method(&mut self, right: Array<B>) {
                *self = $function(BinaryOp::$op, &*self, &right).promoted();
            }
        }

        impl<$($assign_generics)*> $assign<&Array<B>> for Array<A> {
            #[inline]
            #[track_caller]
            fn $assign_method(&mut self, right: &Array<B>) {
                *self = $function(BinaryOp::$op, &*self, right).promoted();
            }
        }
    };
}

/// An operator between an array and a number of its type, or a reference to one.
macro_rules! number_operator {
    ($trait:ident $method:ident $assign:ident $assign_method:ident $op:ident $bound:ident) => {
        number_operator!($trait $method $assign $assign_method $op $bound: T, right => right);
        number_operator!($trait $method $assign $assign_method $op $bound: &T, right => *right);
    };
    ($trait:ident $method:ident $assign:ident $assign_method:ident $op:ident $bound:ident:
     $number:ty, $right:ident => $value:expr) => {
        impl<T: $bound> $trait<$number> for Array<T> {
            type Output = Array<T>;

            #[inline]
            #[track_caller]
            fn $method(self, $right: $number) -> Array<T> {
                self.binary(BinaryOp::$op, &($value).into_array())
            }
        }

        impl<T: $bound> $trait<$number> for &Array<T> {
            type Output = Array<T>;

            #[inline]
            #[track_caller]
            fn $method(self, $right: $number) -> Array<T> {
                self.binary(BinaryOp::$op, &($value).into_array())
            }
        }

        impl<T: $bound> $assign<$number> for Array<T> {
            #[inline]
            #[track_caller]
            fn $assign_method(&mut self, $right: $number) {
                *self = self.binary(BinaryOp::$op, &($value).into_array());
            }
        }
    };
}

/// A number on the left, `2.0 * x`, or a reference to one.
macro_rules! number_on_the_left {
    ($trait:ident $method:ident $op:ident: $($number:ident $element:ident -> $output:ident),*) => {$(
        number_on_the_left!($trait $method $op: $number, left => left; $element -> $output);
        number_on_the_left!($trait $method $op: &$number, left => *left; $element -> $output);
    )*};
    ($trait:ident $method:ident $op:ident: $number:ty, $left:ident => $value:expr; $element:ident -> $output:ident) => {
        impl $trait<Array<$element>> for $number {
            type Output = Array<$output>;

            #[inline]
            #[track_caller]
            fn $method(self, right: Array<$element>) -> Array<$output> {
                let $left = self;
                Operand::<$output>::into_array($value).binary(BinaryOp::$op, &right.promoted())
            }
        }

        impl $trait<&Array<$element>> for $number {
            type Output = Array<$output>;

            #[inline]
            #[track_caller]
            fn $method(self, right: &Array<$element>) -> Array<$output> {
                let $left = self;
                Operand::<$output>::into_array($value).binary(BinaryOp::$op, &right.promoted())
            }
        }
    };
}

/// The same for numbers of the array's own type.
macro_rules! same_number_on_the_left {
    ($trait:ident $method:ident $op:ident: $($number:ident)*) => {
        number_on_the_left!($trait $method $op: $($number $number -> $number),*);
    };
}

/// A number of another type than the array's, such as untyped literals.
macro_rules! weak_number_on_the_right {
    ($trait:ident $method:ident $op:ident: $number:ty, [$($generics:tt)*] $element:ty => $output:ty) => {
        impl<$($generics)*> $trait<$number> for Array<$element> {
            type Output = Array<$output>;

            #[inline]
            #[track_caller]
            fn $method(self, right: $number) -> Array<$output> {
                self.promoted().binary(BinaryOp::$op, &right.into_array())
            }
        }

        impl<$($generics)*> $trait<$number> for &Array<$element> {
            type Output = Array<$output>;

            #[inline]
            #[track_caller]
            fn $method(self, right: $number) -> Array<$output> {
                self.promoted().binary(BinaryOp::$op, &right.into_array())
            }
        }
    };
    ($trait:ident $method:ident $assign:ident $assign_method:ident $op:ident: $number:ty,
        [$($generics:tt)*] $element:ty) => {
        weak_number_on_the_right!($trait $method $op: $number, [$($generics)*] $element => $element);

        impl<$($generics)*> $assign<$number> for Array<$element> {
            #[inline]
            #[track_caller]
            fn $assign_method(&mut self, right: $number) {
                *self = self.binary(BinaryOp::$op, &right.into_array());
            }
        }
    };
}

/// A number of elements combined with an array: it takes the array's type, as in `Array::from`.
macro_rules! size_operator {
    ($trait:ident $method:ident $assign:ident $assign_method:ident) => {
        impl<T: Number> $trait<Size> for Array<T> {
            type Output = Array<T>;

            #[track_caller]
            fn $method(self, right: Size) -> Array<T> {
                self.binary(BinaryOp::$trait, &right.into_array())
            }
        }

        impl<T: Number> $trait<Size> for &Array<T> {
            type Output = Array<T>;

            #[track_caller]
            fn $method(self, right: Size) -> Array<T> {
                self.binary(BinaryOp::$trait, &right.into_array())
            }
        }

        impl<T: Number> $trait<Array<T>> for Size {
            type Output = Array<T>;

            #[track_caller]
            fn $method(self, right: Array<T>) -> Array<T> {
                Operand::<T>::into_array(self).binary(BinaryOp::$trait, &right)
            }
        }

        impl<T: Number> $trait<&Array<T>> for Size {
            type Output = Array<T>;

            #[track_caller]
            fn $method(self, right: &Array<T>) -> Array<T> {
                Operand::<T>::into_array(self).binary(BinaryOp::$trait, right)
            }
        }

        impl<T: Number> $assign<Size> for Array<T> {
            #[track_caller]
            fn $assign_method(&mut self, right: Size) {
                *self = self.binary(BinaryOp::$trait, &right.into_array());
            }
        }
    };
}

macro_rules! arithmetic {
    ($($trait:ident $method:ident $assign:ident $assign_method:ident;)*) => {$(
        array_operator!(
            $trait $method $assign $assign_method $trait mixed;
            [A: Element + Promote<B>, B: Element] A B -> Promoted<A, B>;
            [A: Number + Promote<B>, B: Element + PromotesTo<A>] [Promoted<A, B>: Number]
        );
        number_operator!($trait $method $assign $assign_method $trait Number);
        same_number_on_the_left!($trait $method $trait: i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);
        number_on_the_left!(
            $trait $method $trait: i32 f16 -> f16, i32 bf16 -> bf16, i32 f32 -> f32, i32 f64 -> f64, f32 f16 -> f16,
            f32 bf16 -> bf16,
            f32 i8 -> f32, f32 i16 -> f32, f32 i32 -> f32, f32 i64 -> f32, f32 u8 -> f32, f32 u16 -> f32,
            f32 u32 -> f32,
            f32 u64 -> f32, f32 bool -> f32, i32 bool -> i32
        );
        weak_number_on_the_right!($trait $method $assign $assign_method $trait: i32, [T: FloatElement] T);
        weak_number_on_the_right!($trait $method $assign $assign_method $trait: f32, [] f16);
        weak_number_on_the_right!($trait $method $assign $assign_method $trait: f32, [] bf16);
        weak_number_on_the_right!($trait $method $trait: f32, [T: Integer] T => f32);
        weak_number_on_the_right!($trait $method $trait: f32, [] bool => f32);
        weak_number_on_the_right!($trait $method $trait: i32, [] bool => i32);
        size_operator!($trait $method $assign $assign_method);
    )*};
}

arithmetic! {
    Add add AddAssign add_assign;
    Sub sub SubAssign sub_assign;
    Mul mul MulAssign mul_assign;
    Div div DivAssign div_assign;
    Rem rem RemAssign rem_assign;
}

macro_rules! logic {
    ($($trait:ident $method:ident $assign:ident $assign_method:ident $op:ident;)*) => {$(
        array_operator!(
            $trait $method $assign $assign_method $op mixed_bits;
            [A: Element + Promote<B>, B: Element] A B -> Promoted<A, B>;
            [A: Logic + Promote<B>, B: Element + PromotesTo<A>] [Promoted<A, B>: Logic]
        );
        number_operator!($trait $method $assign $assign_method $op Logic);
        same_number_on_the_left!($trait $method $op: i8 i16 i32 i64 u8 u16 u32 u64 bool);
    )*};
}

logic! {
    BitAnd bitand BitAndAssign bitand_assign And;
    BitOr bitor BitOrAssign bitor_assign Or;
    BitXor bitxor BitXorAssign bitxor_assign Xor;
}

macro_rules! shifts {
    ($($trait:ident $method:ident $assign:ident $assign_method:ident;)*) => {$(
        array_operator!(
            $trait $method $assign $assign_method $trait shifted;
            [A: Integer, B: Integer] A B -> A; [A: Integer, B: Integer] []
        );
        number_operator!($trait $method $assign $assign_method $trait Integer);
        same_number_on_the_left!($trait $method $trait: i8 i16 i32 i64 u8 u16 u32 u64);
    )*};
}

shifts! {
    Shl shl ShlAssign shl_assign;
    Shr shr ShrAssign shr_assign;
}

macro_rules! unary_operator {
    ($($trait:ident $method:ident $bound:ident;)*) => {$(
        impl<T: $bound> $trait for Array<T> {
            type Output = Array<T>;

            #[inline]
            #[track_caller]
            fn $method(self) -> Array<T> {
                self.unary(UnaryOp::$trait)
            }
        }

        impl<T: $bound> $trait for &Array<T> {
            type Output = Array<T>;

            #[inline]
            #[track_caller]
            fn $method(self) -> Array<T> {
                self.unary(UnaryOp::$trait)
            }
        }
    )*};
}

unary_operator! {
    Neg neg Signed;
    Not not Logic;
}

/// `Iterator::sum` and `Iterator::product` over arrays: combines them in order. An empty iterator returns the identity.
macro_rules! folds {
    ($($trait:ident $method:ident $operator:tt $of_none:expr;)*) => {$(
        impl<T: Number> $trait for Array<T> {
            fn $method<I: Iterator<Item = Self>>(arrays: I) -> Self {
                arrays.reduce(|all, array| all $operator array).unwrap_or_else(|| $of_none.into())
            }
        }

        impl<'a, T: Number> $trait<&'a Array<T>> for Array<T> {
            fn $method<I: Iterator<Item = &'a Array<T>>>(arrays: I) -> Self {
                arrays.cloned().$method()
            }
        }
    )*};
}

folds! {
    Sum sum + T::default();
    Product product * T::ONE;
}
