//! Operators on tensors, with tensors, arrays and numbers on either side.

use std::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign, Mul, MulAssign,
    Neg, Not, Rem, RemAssign, Shl, ShlAssign, Shr, ShrAssign, Sub, SubAssign,
};

use half::{bf16, f16};

use super::broadcast::{TensorOperand, common_shape};
use super::lengths::{are_always, is_same_shape, product};
use super::{Tensor, filled};
use crate::{Array, Element, Integer, Logic, Number, Signed, Size};

/// One operation of arrays on tensors, without a closure, so that its nodes belong to the user's line.
macro_rules! combine {
    ($left:expr, $right:expr, $trait:ident $method:ident) => {{
        let (left, right) = ($left, $right);
        if are_always(&left.shape, &right.shape) {
            let array = $trait::$method(&left.array, &right.array);
            Tensor { array, shape: left.shape.clone() }
        } else {
            let shape = common_shape([&*left.shape, &*right.shape]);
            let array = $trait::$method(left.lanes(&shape), right.lanes(&shape));
            Tensor::shaped(filled(array, product(&shape)), &shape)
        }
    }};
}

/// The operator with one type on the left and another on the right.
macro_rules! with_right {
    ([$($generics:tt)*] $left:ty, $right:ty, $element:ty, $trait:ident $method:ident) => {
        impl<$($generics)*> $trait<$right> for $left {
            type Output = Tensor<$element>;

            #[track_caller]
            fn $method(self, right: $right) -> Tensor<$element> {
                let (left, right) = (TensorOperand::<$element>::into_tensor(self),
                    TensorOperand::<$element>::into_tensor(right));
                combine!(&left, &right, $trait $method)
            }
        }
    };
}

macro_rules! assigning {
    ([$($generics:tt)*] $right:ty, $element:ty, $trait:ident $method:ident $assign:ident $assign_method:ident) => {
        impl<$($generics)*> $assign<$right> for Tensor<$element> {
            /// Replaces the tensor by the result, whose shape must be its own.
            #[track_caller]
            fn $assign_method(&mut self, right: $right) {
                let right = TensorOperand::<$element>::into_tensor(right);
                let result = combine!(&*self, &right, $trait $method);
                *self = self.same_shape(result);
            }
        }
    };
}

/// A type on the right of a tensor, by value or reference, and of the assigning operator.
macro_rules! right_of_tensors {
    ([$($generics:tt)*] $right:ty, $element:ty, $trait:ident $method:ident $assign:ident $assign_method:ident) => {
        with_right!([$($generics)*] Tensor<$element>, $right, $element, $trait $method);
        with_right!([$($generics)*] &Tensor<$element>, $right, $element, $trait $method);
        assigning!([$($generics)*] $right, $element, $trait $method $assign $assign_method);
    };
}

macro_rules! left_of_tensors {
    ([$($generics:tt)*] $left:ty, $element:ty, $trait:ident $method:ident) => {
        with_right!([$($generics)*] $left, Tensor<$element>, $element, $trait $method);
        with_right!([$($generics)*] $left, &Tensor<$element>, $element, $trait $method);
    };
}

macro_rules! binary_operator {
    ($bound:ident $($names:ident)*; $trait:ident $method:ident) => {
        right_of_tensors!([T: $bound] Tensor<T>, T, $($names)*);
        right_of_tensors!([T: $bound] &Tensor<T>, T, $($names)*);
        right_of_tensors!([T: $bound] Array<T>, T, $($names)*);
        right_of_tensors!([T: $bound] &Array<T>, T, $($names)*);
        right_of_tensors!([T: $bound] T, T, $($names)*);
        right_of_tensors!([T: $bound] &T, T, $($names)*);
        left_of_tensors!([T: $bound] Array<T>, T, $trait $method);
        left_of_tensors!([T: $bound] &Array<T>, T, $trait $method);
    };
}

macro_rules! numbers_on_the_left {
    ($trait:ident $method:ident: $($number:ident)*) => {
        $(left_of_tensors!([] $number, $number, $trait $method);)*
        $(left_of_tensors!([] &$number, $number, $trait $method);)*
    };
}

/// Whole numbers combined with floats, and `f32` combined with halves: untyped literals.
macro_rules! weak_numbers {
    ($trait:ident $method:ident $assign:ident $assign_method:ident: $($number:ident $element:ident),*) => {$(
        right_of_tensors!([] $number, $element, $trait $method $assign $assign_method);
        left_of_tensors!([] $number, $element, $trait $method);
    )*};
}

/// Lengths of axes, which become elements. One element type at a time: for Rust, a length could be an element type.
macro_rules! sizes {
    ($trait:ident $method:ident $assign:ident $assign_method:ident: $($element:ident)*) => {$(
        right_of_tensors!([] Size, $element, $trait $method $assign $assign_method);
        left_of_tensors!([] Size, $element, $trait $method);
    )*};
}

macro_rules! arithmetic {
    ($($trait:ident $method:ident $assign:ident $assign_method:ident;)*) => {$(
        binary_operator!(Number $trait $method $assign $assign_method; $trait $method);
        numbers_on_the_left!($trait $method: i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);
        sizes!($trait $method $assign $assign_method: i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);
        weak_numbers!($trait $method $assign $assign_method: i32 f16, i32 bf16, i32 f32, i32 f64, f32 f16, f32 bf16);
    )*};
}

arithmetic! {
    Add add AddAssign add_assign;
    Sub sub SubAssign sub_assign;
    Mul mul MulAssign mul_assign;
    Div div DivAssign div_assign;
    Rem rem RemAssign rem_assign;
}

macro_rules! bits {
    ($($trait:ident $method:ident $assign:ident $assign_method:ident;)*) => {$(
        binary_operator!(Logic $trait $method $assign $assign_method; $trait $method);
        numbers_on_the_left!($trait $method: bool i8 i16 i32 i64 u8 u16 u32 u64);
    )*};
}

bits! {
    BitAnd bitand BitAndAssign bitand_assign;
    BitOr bitor BitOrAssign bitor_assign;
    BitXor bitxor BitXorAssign bitxor_assign;
}

macro_rules! shifts {
    ($($trait:ident $method:ident $assign:ident $assign_method:ident;)*) => {$(
        binary_operator!(Integer $trait $method $assign $assign_method; $trait $method);
        numbers_on_the_left!($trait $method: i8 i16 i32 i64 u8 u16 u32 u64);
    )*};
}

shifts! {
    Shl shl ShlAssign shl_assign;
    Shr shr ShrAssign shr_assign;
}

macro_rules! unary_operator {
    ($($trait:ident $method:ident $bound:ident;)*) => {$(
        impl<T: $bound> $trait for Tensor<T> {
            type Output = Tensor<T>;

            #[track_caller]
            fn $method(self) -> Tensor<T> {
                self.with_array($trait::$method(&self.array))
            }
        }

        impl<T: $bound> $trait for &Tensor<T> {
            type Output = Tensor<T>;

            #[track_caller]
            fn $method(self) -> Tensor<T> {
                self.with_array($trait::$method(&self.array))
            }
        }
    )*};
}

unary_operator! {
    Neg neg Signed;
    Not not Logic;
}

impl<T: Element> Tensor<T> {
    /// Returns the result of an assigning operator, which must not grow the tensor.
    #[track_caller]
    fn same_shape(&self, result: Tensor<T>) -> Tensor<T> {
        if is_same_shape(&result.shape, &self.shape) {
            return result;
        }
        let (own, other) = (&*self.shape, &*result.shape);
        let what = format!("a tensor of shape {own:?} cannot take a result of shape {other:?} in place");
        jit_core::misuse::Misuse::new(what, crate::Site::here())
            .hint("an assigning operator broadcasts only its right side: write `a = a + b` to change the shape")
            .panic()
    }
}
