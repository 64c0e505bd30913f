//! Operators: component by component, with vectors, arrays and numbers on either side.

use std::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign, Mul, MulAssign,
    Neg, Not, Rem, RemAssign, Shl, ShlAssign, Shr, ShrAssign, Sub, SubAssign,
};

use super::{Vec2, Vec3, Vec4, VectorOperand, for_each_vector, number_types};
use crate::{Array, Integer, Logic, Number, Operand, Signed};

macro_rules! vector_operator {
    ($Vec:ident [$($c:ident),*] $Op:ident $op:ident $OpAssign:ident $op_assign:ident $Bound:ident) => {
        impl<T: $Bound, R: VectorOperand<$Vec<T>>> $Op<R> for $Vec<T> {
            type Output = $Vec<T>;

            #[inline]
            #[track_caller]
            fn $op(self, right: R) -> $Vec<T> {
                let right = right.into_vector();
                $Vec { $($c: self.$c.$op(right.$c)),* }
            }
        }

        impl<T: $Bound, R: VectorOperand<$Vec<T>>> $Op<R> for &$Vec<T> {
            type Output = $Vec<T>;

            #[inline]
            #[track_caller]
            fn $op(self, right: R) -> $Vec<T> {
                let right = right.into_vector();
                $Vec { $($c: (&self.$c).$op(right.$c)),* }
            }
        }

        impl<T: $Bound, R: VectorOperand<$Vec<T>>> $OpAssign<R> for $Vec<T> {
            #[inline]
            #[track_caller]
            fn $op_assign(&mut self, right: R) {
                let right = right.into_vector();
                $(self.$c.$op_assign(right.$c);)*
            }
        }
    };
}

/// An array or a number on the left: `array * vector`, `2.0 * vector`.
macro_rules! left {
    ($Vec:ident [$($c:ident),*] $Op:ident $op:ident [$($generics:tt)*] $T:ty: $Left:ty) => {
        impl<$($generics)*> $Op<$Vec<$T>> for $Left {
            type Output = $Vec<$T>;

            #[inline]
            #[track_caller]
            fn $op(self, right: $Vec<$T>) -> $Vec<$T> {
                self.$op(&right)
            }
        }

        impl<$($generics)*> $Op<&$Vec<$T>> for $Left {
            type Output = $Vec<$T>;

            #[inline]
            #[track_caller]
            fn $op(self, right: &$Vec<$T>) -> $Vec<$T> {
                let left: Array<$T> = Operand::<$T>::into_array(self);
                $Vec { $($c: (&left).$op(&right.$c)),* }
            }
        }
    };
}

macro_rules! operator {
    ($Vec:ident $components:tt $Op:ident $op:ident $OpAssign:ident $op_assign:ident $Bound:ident) => {
        vector_operator!($Vec $components $Op $op $OpAssign $op_assign $Bound);
        left!($Vec $components $Op $op [T: $Bound] T: Array<T>);
        left!($Vec $components $Op $op [T: $Bound] T: &Array<T>);
    };
}

macro_rules! arithmetic {
    ($Vec:ident $components:tt $($Op:ident $op:ident $OpAssign:ident $op_assign:ident;)*) => {$(
        operator!($Vec $components $Op $op $OpAssign $op_assign Number);
        number_types!(left $Vec $components $Op $op);
    )*};
}

macro_rules! bitwise {
    ($Vec:ident $components:tt $Bound:ident: $($Op:ident $op:ident $OpAssign:ident $op_assign:ident;)*) => {
        $(operator!($Vec $components $Op $op $OpAssign $op_assign $Bound);)*
    };
}

macro_rules! unary {
    ($Vec:ident [$($c:ident),*] $Op:ident $op:ident $Bound:ident) => {
        impl<T: $Bound> $Op for $Vec<T> {
            type Output = $Vec<T>;

            #[inline]
            #[track_caller]
            fn $op(self) -> $Vec<T> {
                $Vec { $($c: self.$c.$op()),* }
            }
        }

        impl<T: $Bound> $Op for &$Vec<T> {
            type Output = $Vec<T>;

            #[inline]
            #[track_caller]
            fn $op(self) -> $Vec<T> {
                $Vec { $($c: (&self.$c).$op()),* }
            }
        }
    };
}

macro_rules! operators {
    ($Vec:ident $n:literal [$($c:ident $index:literal),*]) => {
        arithmetic! { $Vec [$($c),*]
            Add add AddAssign add_assign;
            Sub sub SubAssign sub_assign;
            Mul mul MulAssign mul_assign;
            Div div DivAssign div_assign;
            Rem rem RemAssign rem_assign;
        }
        bitwise! { $Vec [$($c),*] Logic:
            BitAnd bitand BitAndAssign bitand_assign;
            BitOr bitor BitOrAssign bitor_assign;
            BitXor bitxor BitXorAssign bitxor_assign;
        }
        bitwise! { $Vec [$($c),*] Integer:
            Shl shl ShlAssign shl_assign;
            Shr shr ShrAssign shr_assign;
        }
        unary!($Vec [$($c),*] Neg neg Signed);
        unary!($Vec [$($c),*] Not not Logic);
    };
}

for_each_vector!(operators);

macro_rules! sums {
    ($Vec:ident $n:literal [$($c:ident $index:literal),*]) => {
        impl<T: Number, V: VectorOperand<$Vec<T>>> std::iter::Sum<V> for $Vec<T> {
            /// Returns the sum of vectors; zero for none.
            fn sum<I: Iterator<Item = V>>(vectors: I) -> Self {
                let mut vectors = vectors;
                let Some(first) = vectors.next() else { return $Vec::default() };
                vectors.fold(first.into_vector(), |sum, vector| sum + vector)
            }
        }
    };
}

for_each_vector!(sums);
