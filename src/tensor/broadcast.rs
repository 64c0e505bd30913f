//! Broadcasting: bringing tensors to a common shape, under the rules of NumPy.
//!
//! Shapes are compared from the last axis on. Lengths must be equal, or one of them 1, whose element is then repeated; a
//! shape with fewer axes has length 1 in the others.

use std::panic::Location;

use half::{bf16, f16};
use jit_core::trace::misuse::Misuse;

use super::view::{View, ViewAxis, strides};
use super::{Shape, Tensor};
use crate::{Array, Element, Operand};

/// What operations take beside a tensor of `T`: a tensor, an array (of one axis, or of width 1 for any shape), or a number.
#[diagnostic::on_unimplemented(
    message = "a tensor of `{T}` cannot be combined with `{Self}`",
    label = "expected a tensor or array of `{T}`, a reference to one, or `{T}`",
    note = "element types do not convert by themselves: write `.cast::<{T}>()`"
)]
pub trait TensorOperand<T: Element> {
    /// The operand as a tensor.
    #[track_caller]
    fn into_tensor(self) -> Tensor<T>;
}

impl<T: Element> TensorOperand<T> for Tensor<T> {
    fn into_tensor(self) -> Tensor<T> {
        self
    }
}

impl<T: Element> TensorOperand<T> for &Tensor<T> {
    fn into_tensor(self) -> Tensor<T> {
        self.clone()
    }
}

macro_rules! array_operands {
    ($([$($generics:tt)*] $ty:ty, $element:ty;)*) => {$(
        impl<$($generics)*> TensorOperand<$element> for $ty {
            #[track_caller]
            fn into_tensor(self) -> Tensor<$element> {
                of_array(self.into_array())
            }
        }
    )*};
}

array_operands! {
    [T: Element] Array<T>, T;
    [T: Element] &Array<T>, T;
    [T: Element] T, T;
    [] i32, f16;
    [] i32, bf16;
    [] i32, f32;
    [] i32, f64;
    [] f32, f16;
    [] f32, bf16;
}

/// An array as an operand: one axis, or none where the one element goes with any shape.
fn of_array<T: Element>(array: Array<T>) -> Tensor<T> {
    let shape: &[usize] = if array.len() == 1 { &[] } else { &[array.len()] };
    Tensor::new(array, shape)
}

/// The shape that two shapes have in common.
fn common_of_two(first: &[usize], second: &[usize]) -> Result<Vec<usize>, usize> {
    let count = first.len().max(second.len());
    let length = |shape: &[usize], axis: usize| (axis + shape.len()).checked_sub(count).map_or(1, |axis| shape[axis]);
    let axes = (0..count).map(|axis| match (length(first, axis), length(second, axis)) {
        (a, b) if a == b => Ok(a),
        (1, b) => Ok(b),
        (a, 1) => Ok(a),
        _ => Err(count - axis),
    });
    axes.collect()
}

/// The shape that all shapes have in common.
#[track_caller]
pub(super) fn common_shape<'a>(shapes: impl IntoIterator<Item = &'a [usize]>) -> Vec<usize> {
    let mut common: Vec<usize> = Vec::new();
    for shape in shapes {
        match common_of_two(&common, shape) {
            Ok(next) => common = next,
            Err(from_last) => mismatch(&common, shape, from_last),
        }
    }
    super::shape::element_count(&common);
    common
}

#[cold]
#[track_caller]
fn mismatch(first: &[usize], second: &[usize], from_last: usize) -> ! {
    let (a, b) = (first[first.len() - from_last], second[second.len() - from_last]);
    let what = format!(
        "tensors of shape {first:?} and {second:?} cannot be combined: axis −{from_last} has length {a} in the one and {b} in the other"
    );
    Misuse::new(what, Location::caller())
        .hint("shapes are compared from the last axis on: lengths must be equal, or one of them 1; `expand_dims` adds an axis")
        .panic()
}

/// How to read a shape's elements as those of a larger shape that it broadcasts to.
pub(super) fn spread(shape: &[usize], to: &[usize]) -> View {
    let missing = to.len() - shape.len();
    let steps = strides(shape);
    let axes = to.iter().enumerate().map(|(axis, &length)| {
        let source = axis.checked_sub(missing).filter(|&axis| shape[axis] != 1);
        ViewAxis { length, stride: source.map_or(0, |axis| steps[axis]) }
    });
    View { axes: axes.collect(), offset: 0 }
}

impl<T: Element> Tensor<T> {
    /// The tensor in a larger shape, whose added elements repeat those of axes of length 1.
    ///
    /// # Panics
    ///
    /// When the tensor does not broadcast to the shape.
    #[must_use]
    #[track_caller]
    pub fn broadcast_to(&self, shape: impl Into<Shape>) -> Self {
        let shape = shape.into().known();
        if common_of_two(&self.shape, &shape).as_ref() != Ok(&shape) {
            let what = format!("a tensor of shape {:?} does not broadcast to shape {shape:?}", self.shape);
            Misuse::new(what, Location::caller())
                .value("the tensor", self.array.var())
                .hint("axes are added in front, and an axis of length 1 takes any length; no other length changes")
                .panic();
        }
        self.spread_to(&shape)
    }

    /// The tensor in a shape that it is known to broadcast to.
    #[track_caller]
    pub(super) fn spread_to(&self, shape: &[usize]) -> Self {
        if *self.shape == *shape {
            return self.clone();
        }
        Tensor::new(spread(&self.shape, shape).read(&self.array), shape)
    }

    /// The elements for an operation whose result has a shape: one element stays one, as arrays repeat it themselves.
    #[track_caller]
    pub(super) fn lanes(&self, shape: &[usize]) -> Array<T> {
        if self.len() == 1 { self.array.clone() } else { self.spread_to(shape).array }
    }

    /// What a function of arrays makes of the elements of two tensors, brought to a common shape.
    ///
    /// # Panics
    ///
    /// When the shapes do not broadcast, or the function gives another number of elements.
    #[must_use]
    #[track_caller]
    pub fn zip_with<U: Element, R: Element>(
        &self,
        other: &Tensor<U>,
        function: impl FnOnce(&Array<T>, &Array<U>) -> Array<R>,
    ) -> Tensor<R> {
        let shape = common_shape([&*self.shape, &*other.shape]);
        let array = function(&self.lanes(&shape), &other.lanes(&shape));
        let array = super::filled(array, shape.iter().product());
        Tensor::new(array, shape)
    }

    /// As [`Tensor::zip_with`], with three tensors.
    #[must_use]
    #[track_caller]
    pub fn zip_with2<U: Element, V: Element, R: Element>(
        &self,
        second: &Tensor<U>,
        third: &Tensor<V>,
        function: impl FnOnce(&Array<T>, &Array<U>, &Array<V>) -> Array<R>,
    ) -> Tensor<R> {
        let shape = common_shape([&*self.shape, &*second.shape, &*third.shape]);
        let array = function(&self.lanes(&shape), &second.lanes(&shape), &third.lanes(&shape));
        let array = super::filled(array, shape.iter().product());
        Tensor::new(array, shape)
    }
}
