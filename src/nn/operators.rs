//! Operators on parameters and buffers: those of their tensors.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign};

use half::{bf16, f16};

use super::{Buffer, Parameter};
use crate::tensor::{Tensor, TensorOperand};
use crate::{Array, Element, FloatElement, Number, Signed};

/// A binary operator of one of both types, on either side.
macro_rules! binary {
    ($name:ident $element:ident $bound:ident: $($trait:ident $method:ident $assign:ident $assign_method:ident;)*) => {$(
        impl<'a, T: $element, R> $trait<R> for &'a $name<T>
        where
            &'a Tensor<T>: $trait<R>,
        {
            type Output = <&'a Tensor<T> as $trait<R>>::Output;

            #[track_caller]
            fn $method(self, right: R) -> Self::Output {
                $trait::$method(&**self, right)
            }
        }

        impl<T: $element, R> $trait<R> for $name<T>
        where
            Tensor<T>: $trait<R>,
        {
            type Output = <Tensor<T> as $trait<R>>::Output;

            #[track_caller]
            fn $method(self, right: R) -> Self::Output {
                $trait::$method((*self).clone(), right)
            }
        }

        binary!(@left $name $trait $method [T: $bound] Tensor<T>, T);
        binary!(@left $name $trait $method [T: $bound] &Tensor<T>, T);
        binary!(@left $name $trait $method [T: $bound] Array<T>, T);
        binary!(@left $name $trait $method [T: $bound] &Array<T>, T);
        binary!(@left $name $trait $method [] f16, f16);
        binary!(@left $name $trait $method [] bf16, bf16);
        binary!(@left $name $trait $method [] f32, f32);
        binary!(@left $name $trait $method [] f64, f64);

        impl<T: $bound> $assign<&$name<T>> for Tensor<T> {
            #[track_caller]
            fn $assign_method(&mut self, right: &$name<T>) {
                $assign::$assign_method(self, &**right);
            }
        }
    )*};
    (@left $name:ident $trait:ident $method:ident [$($generics:tt)*] $left:ty, $of:ty) => {
        impl<$($generics)*> $trait<&$name<$of>> for $left {
            type Output = Tensor<$of>;

            #[track_caller]
            fn $method(self, right: &$name<$of>) -> Tensor<$of> {
                $trait::$method(self, &**right)
            }
        }
    };
}

macro_rules! operators {
    ($($name:ident $element:ident $bound:ident;)*) => {$(
        binary! {
            $name $element $bound:
            Add add AddAssign add_assign;
            Sub sub SubAssign sub_assign;
            Mul mul MulAssign mul_assign;
            Div div DivAssign div_assign;
            Rem rem RemAssign rem_assign;
        }

        impl<T: $element + Signed> Neg for &$name<T> {
            type Output = Tensor<T>;

            #[track_caller]
            fn neg(self) -> Tensor<T> {
                -&**self
            }
        }

        impl<T: $element> TensorOperand<T> for &$name<T> {
            fn into_tensor(self) -> Tensor<T> {
                (**self).clone()
            }
        }

        /// So that the compiler proposes `.into()` where a tensor is assigned to a field of a layer.
        impl<T: $element> From<Tensor<T>> for $name<T> {
            #[track_caller]
            fn from(tensor: Tensor<T>) -> Self {
                $name::new(tensor)
            }
        }
    )*};
}

operators! {
    Parameter FloatElement FloatElement;
    Buffer Element Number;
}
