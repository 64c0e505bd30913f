//! Comparisons of tensors, outside `#[jit]` functions by methods and inside by operators; selection by their results.

use jit_core::control::{Equal, IfCondition, Logical, Order, TracedStage, WhileCondition};

use super::broadcast::{TensorOperand, common_shape};
use super::lengths::product;
use super::{Tensor, filled};
use crate::{Array, Element, Mask};

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        impl<T: Element> Tensor<T> {
            $(
                $(#[$doc])*
                #[must_use]
                #[track_caller]
                pub fn $name(&self, other: impl TensorOperand<T>) -> Tensor<bool> {
                    let other = other.into_tensor();
                    let shape = common_shape([&*self.shape, &*other.shape]);
                    let array = self.lanes(&shape).$name(other.lanes(&shape));
                    Tensor::shaped(filled(array, product(&shape)), &shape)
                }
            )*
        }
    };
}

comparisons! {
    /// Returns true where `self` is less; false for NaN.
    lt;
    /// Returns true where `self` is less or equal; false for NaN.
    le;
    /// Returns true where `self` is greater; false for NaN.
    gt;
    /// Returns true where `self` is greater or equal; false for NaN.
    ge;
    /// Returns true where both are equal; false for NaN.
    eq;
    /// Returns true where they differ; true for NaN.
    ne;
}

impl Tensor<bool> {
    /// Selects the first value where the mask is true, the second where it is false, in the common shape of all three.
    #[must_use]
    #[track_caller]
    pub fn select<T: Element>(&self, if_true: impl TensorOperand<T>, if_false: impl TensorOperand<T>) -> Tensor<T> {
        let (a, b) = (if_true.into_tensor(), if_false.into_tensor());
        let shape = common_shape([&*self.shape, &*a.shape, &*b.shape]);
        let array = self.lanes(&shape).select(a.lanes(&shape), b.lanes(&shape));
        Tensor::shaped(filled(array, product(&shape)), &shape)
    }
}

/// The comparison operators of `#[jit]` functions.
macro_rules! compared {
    ($([$($generics:tt)*] $left:ty, $right:ty, $element:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> Equal<$right> for $left {
            type Output = Tensor<bool>;

            #[track_caller]
            fn eq(&self, other: &$right) -> Tensor<bool> {
                Tensor::eq(&TensorOperand::<$element>::into_tensor(self.clone()), other.clone())
            }

            #[track_caller]
            fn ne(&self, other: &$right) -> Tensor<bool> {
                Tensor::ne(&TensorOperand::<$element>::into_tensor(self.clone()), other.clone())
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($generics)*> Order<$right> for $left {
            type Output = Tensor<bool>;

            #[track_caller]
            fn lt(&self, other: &$right) -> Tensor<bool> {
                Tensor::lt(&TensorOperand::<$element>::into_tensor(self.clone()), other.clone())
            }

            #[track_caller]
            fn le(&self, other: &$right) -> Tensor<bool> {
                Tensor::le(&TensorOperand::<$element>::into_tensor(self.clone()), other.clone())
            }

            #[track_caller]
            fn gt(&self, other: &$right) -> Tensor<bool> {
                Tensor::gt(&TensorOperand::<$element>::into_tensor(self.clone()), other.clone())
            }

            #[track_caller]
            fn ge(&self, other: &$right) -> Tensor<bool> {
                Tensor::ge(&TensorOperand::<$element>::into_tensor(self.clone()), other.clone())
            }
        }
    )*};
}

compared! {
    [T: Element] Tensor<T>, Tensor<T>, T;
    [T: Element] Tensor<T>, &Tensor<T>, T;
    [T: Element] &Tensor<T>, Tensor<T>, T;
    [T: Element] &Tensor<T>, &Tensor<T>, T;
    [T: Element] Tensor<T>, Array<T>, T;
    [T: Element] &Tensor<T>, Array<T>, T;
    [T: Element] Array<T>, Tensor<T>, T;
    [T: Element] Array<T>, &Tensor<T>, T;
    [T: Element] Tensor<T>, T, T;
    [T: Element] &Tensor<T>, T, T;
    [] Tensor<f32>, i32, f32;
    [] &Tensor<f32>, i32, f32;
    [] Tensor<f64>, i32, f64;
    [] &Tensor<f64>, i32, f64;
}

macro_rules! number_on_the_left {
    ($($number:ident)*) => {
        compared! { $([] $number, Tensor<$number>, $number; [] $number, &Tensor<$number>, $number;)* }
    };
}

number_on_the_left!(bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

/// A mask as the condition of a traced `if` or `while`, and as an operand of `&&` and `||`: each element is a lane.
/// Variables assigned in the region must have the shape of the mask.
macro_rules! conditions {
    ($($ty:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl IfCondition for $ty {
            type Stage = TracedStage;

            fn condition(&self) -> Mask {
                self.array.clone()
            }
        }

        #[diagnostic::do_not_recommend]
        impl WhileCondition for $ty {
            type Stage = TracedStage;

            fn condition(&self) -> Mask {
                self.array.clone()
            }
        }

        #[diagnostic::do_not_recommend]
        impl Logical for $ty {
            type Stage = TracedStage;

            fn logical(&self) -> Mask {
                self.array.clone()
            }
        }
    )*};
}

conditions!(Tensor<bool>, &Tensor<bool>);

jit_core::refuse_rust_comparisons! {
    [T: Element] Tensor<T>;
}
