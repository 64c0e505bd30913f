//! Operators on arrays, references to them, and numbers on either side.

use std::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign, Mul, MulAssign,
    Neg, Not, Rem, RemAssign, Shl, ShlAssign, Shr, ShrAssign, Sub, SubAssign,
};

use half::{bf16, f16};
use jit_runtime::ir::{BinaryOp, UnaryOp};

use super::{Array, FloatElement, Integer, Logic, Number, Operand, Signed};

macro_rules! binary_operator {
    ($trait:ident $method:ident $assign:ident $assign_method:ident $op:ident $bound:ident) => {
        impl<T: $bound> $trait<Array<T>> for Array<T> {
            type Output = Array<T>;

            #[inline]
            #[track_caller]
            fn $method(self, right: Array<T>) -> Array<T> {
                self.binary(BinaryOp::$op, &right)
            }
        }

        impl<T: $bound> $trait<&Array<T>> for Array<T> {
            type Output = Array<T>;

            #[inline]
            #[track_caller]
            fn $method(self, right: &Array<T>) -> Array<T> {
                self.binary(BinaryOp::$op, right)
            }
        }

        impl<T: $bound> $trait<Array<T>> for &Array<T> {
            type Output = Array<T>;

            #[inline]
            #[track_caller]
            fn $method(self, right: Array<T>) -> Array<T> {
                self.binary(BinaryOp::$op, &right)
            }
        }

        impl<T: $bound> $trait<&Array<T>> for &Array<T> {
            type Output = Array<T>;

            #[inline]
            #[track_caller]
            fn $method(self, right: &Array<T>) -> Array<T> {
                self.binary(BinaryOp::$op, right)
            }
        }

        impl<T: $bound> $trait<T> for Array<T> {
            type Output = Array<T>;

            #[inline]
            #[track_caller]
            fn $method(self, right: T) -> Array<T> {
                self.binary(BinaryOp::$op, &right.into_array())
            }
        }

        impl<T: $bound> $trait<T> for &Array<T> {
            type Output = Array<T>;

            #[inline]
            #[track_caller]
            fn $method(self, right: T) -> Array<T> {
                self.binary(BinaryOp::$op, &right.into_array())
            }
        }

        impl<T: $bound> $assign<Array<T>> for Array<T> {
            #[inline]
            #[track_caller]
            fn $assign_method(&mut self, right: Array<T>) {
                *self = self.binary(BinaryOp::$op, &right);
            }
        }

        impl<T: $bound> $assign<&Array<T>> for Array<T> {
            #[inline]
            #[track_caller]
            fn $assign_method(&mut self, right: &Array<T>) {
                *self = self.binary(BinaryOp::$op, right);
            }
        }

        impl<T: $bound> $assign<T> for Array<T> {
            #[inline]
            #[track_caller]
            fn $assign_method(&mut self, right: T) {
                *self = self.binary(BinaryOp::$op, &right.into_array());
            }
        }
    };
}

/// A number on the left: `2.0 * x`.
macro_rules! number_on_the_left {
    ($trait:ident $method:ident $op:ident: $($number:ident $element:ident),*) => {$(
        impl $trait<Array<$element>> for $number {
            type Output = Array<$element>;

            #[inline]
            #[track_caller]
            fn $method(self, right: Array<$element>) -> Array<$element> {
                Operand::<$element>::into_array(self).binary(BinaryOp::$op, &right)
            }
        }

        impl $trait<&Array<$element>> for $number {
            type Output = Array<$element>;

            #[inline]
            #[track_caller]
            fn $method(self, right: &Array<$element>) -> Array<$element> {
                Operand::<$element>::into_array(self).binary(BinaryOp::$op, right)
            }
        }
    )*};
}

/// A whole number beside floats, and an `f32` beside halves: the literals that people write.
macro_rules! weak_number_on_the_right {
    ($trait:ident $method:ident $assign:ident $assign_method:ident $op:ident: $number:ty, [$($generics:tt)*] $element:ty) => {
        impl<$($generics)*> $trait<$number> for Array<$element> {
            type Output = Array<$element>;

            #[inline]
            #[track_caller]
            fn $method(self, right: $number) -> Array<$element> {
                self.binary(BinaryOp::$op, &right.into_array())
            }
        }

        impl<$($generics)*> $trait<$number> for &Array<$element> {
            type Output = Array<$element>;

            #[inline]
            #[track_caller]
            fn $method(self, right: $number) -> Array<$element> {
                self.binary(BinaryOp::$op, &right.into_array())
            }
        }

        impl<$($generics)*> $assign<$number> for Array<$element> {
            #[inline]
            #[track_caller]
            fn $assign_method(&mut self, right: $number) {
                *self = self.binary(BinaryOp::$op, &right.into_array());
            }
        }
    };
}

macro_rules! arithmetic {
    ($($trait:ident $method:ident $assign:ident $assign_method:ident;)*) => {$(
        binary_operator!($trait $method $assign $assign_method $trait Number);
        number_on_the_left!($trait $method $trait: i8 i8, i16 i16, i32 i32, i64 i64, u8 u8, u16 u16, u32 u32, u64 u64);
        number_on_the_left!($trait $method $trait: f16 f16, bf16 bf16, f32 f32, f64 f64);
        number_on_the_left!($trait $method $trait: i32 f16, i32 bf16, i32 f32, i32 f64, f32 f16, f32 bf16);
        weak_number_on_the_right!($trait $method $assign $assign_method $trait: i32, [T: FloatElement] T);
        weak_number_on_the_right!($trait $method $assign $assign_method $trait: f32, [] f16);
        weak_number_on_the_right!($trait $method $assign $assign_method $trait: f32, [] bf16);
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
        binary_operator!($trait $method $assign $assign_method $op Logic);
        number_on_the_left!($trait $method $op: i8 i8, i16 i16, i32 i32, i64 i64, u8 u8, u16 u16, u32 u32, u64 u64);
        number_on_the_left!($trait $method $op: bool bool);
    )*};
}

logic! {
    BitAnd bitand BitAndAssign bitand_assign And;
    BitOr bitor BitOrAssign bitor_assign Or;
    BitXor bitxor BitXorAssign bitxor_assign Xor;
}

binary_operator!(Shl shl ShlAssign shl_assign Shl Integer);
binary_operator!(Shr shr ShrAssign shr_assign Shr Integer);
number_on_the_left!(Shl shl Shl: i8 i8, i16 i16, i32 i32, i64 i64, u8 u8, u16 u16, u32 u32, u64 u64);
number_on_the_left!(Shr shr Shr: i8 i8, i16 i16, i32 i32, i64 i64, u8 u8, u16 u16, u32 u32, u64 u64);

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
