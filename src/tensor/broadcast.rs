//! Broadcasting: bringing tensors to a common shape, under the rules of NumPy.
//!
//! Shapes are compared from the last axis on. Lengths must be equal, or one of them must be 1; its element is then
//! repeated. A shape with fewer axes has length 1 in the others.

use half::{bf16, f16};
use jit_core::misuse::Misuse;

use super::derivatives::spread_with_gradients;
use super::lengths::{Sizes, happens_to_be_shape, is, product};
use super::view::{Stride, View, ViewAxis, strides};
use super::{Shape, Tensor};
use crate::Site;
use crate::{Array, Element, Operand, Size};

/// The second operand of an operation on a tensor of `T`: a tensor, an array (with one axis, or of width 1 for any
/// shape), or a number.
#[diagnostic::on_unimplemented(
    message = "a tensor of `{T}` cannot be combined with `{Self}`",
    label = "expected a tensor or array of `{T}`, a reference to one, or `{T}`",
    note = "element types are not converted implicitly: write `.cast::<{T}>()`"
)]
pub trait TensorOperand<T: Element> {
    /// Returns the operand as a tensor.
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

impl<T: Element> TensorOperand<T> for &T {
    #[track_caller]
    fn into_tensor(self) -> Tensor<T> {
        TensorOperand::<T>::into_tensor(*self)
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
    [] Size, i8;
    [] Size, i16;
    [] Size, i32;
    [] Size, i64;
    [] Size, u8;
    [] Size, u16;
    [] Size, u32;
    [] Size, u64;
    [] Size, f16;
    [] Size, bf16;
    [] Size, f32;
    [] Size, f64;
    [] i32, f16;
    [] i32, bf16;
    [] i32, f32;
    [] i32, f64;
    [] f32, f16;
    [] f32, bf16;
}

/// Converts an array to an operand: it has one axis, or none if its one element combines with any shape.
#[track_caller]
fn of_array<T: Element>(array: Array<T>) -> Tensor<T> {
    let width = array.width();
    let shape: &[Size] = if width == 1 { &[] } else { &[width] };
    Tensor::shaped(array, shape)
}

/// Returns the length of an axis in one of several shapes, for a common number of axes; 1 for axes that it lacks.
fn length_of(shape: &[Size], axis: usize, count: usize) -> Size {
    (axis + shape.len()).checked_sub(count).map_or(Size::from(1), |axis| shape[axis])
}

/// Returns the common length of two lengths of an axis.
#[track_caller]
fn common_length(a: Size, b: Size) -> Option<Size> {
    if a.is_always(b) || is(b, 1) {
        Some(a)
    } else if is(a, 1) {
        Some(b)
    } else if a == b {
        Some(if b.is_constant() { b } else { a })
    } else {
        None
    }
}

/// Returns the common shape of two shapes, or the number of the axis, counted from the last, that differs.
#[track_caller]
fn common_of_two(first: &[Size], second: &[Size]) -> Result<Sizes, usize> {
    let count = first.len().max(second.len());
    let mut common = Sizes::with_capacity(count);
    for axis in 0..count {
        match common_length(length_of(first, axis, count), length_of(second, axis, count)) {
            Some(length) => common.push(length),
            None => return Err(count - axis),
        }
    }
    Ok(common)
}

/// Returns the common shape of all shapes.
#[track_caller]
pub(super) fn common_shape<'a>(shapes: impl IntoIterator<Item = &'a [Size]>) -> Sizes {
    let mut common = Sizes::new();
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
fn mismatch(first: &[Size], second: &[Size], from_last: usize) -> ! {
    let (a, b) = (first[first.len() - from_last], second[second.len() - from_last]);
    let what = format!(
        "tensors of shape {first:?} and {second:?} cannot be combined: axis −{from_last} has length {a} in the one and \
        {b} in the other"
    );
    Misuse::new(what, Site::here())
        .hint(
            "shapes are compared from the last axis on: lengths must be equal, or one of them 1; `expand_dims` adds \
            an axis",
        )
        .panic()
}

/// Returns a view of a shape's elements as those of a larger shape that it broadcasts to.
#[track_caller]
pub(super) fn spread(shape: &[Size], to: &[Size]) -> View {
    let missing = to.len() - shape.len();
    let steps = strides(shape);
    let axes = to.iter().enumerate().map(|(axis, &length)| {
        let source = axis.checked_sub(missing).filter(|&axis| !is(shape[axis], 1));
        ViewAxis { length, stride: source.map_or(Stride::none(), |axis| steps[axis].into()) }
    });
    View { axes: axes.collect(), offset: Size::from(0) }
}

/// Returns whether a shape broadcasts to a larger one.
#[track_caller]
pub(super) fn fits(shape: &[Size], to: &[Size]) -> bool {
    let Some(missing) = to.len().checked_sub(shape.len()) else { return false };
    for (&length, &wanted) in shape.iter().zip(&to[missing..]) {
        if !is(length, 1) && !length.is_always(wanted) && length != wanted {
            return false;
        }
    }
    true
}

impl<T: Element> Tensor<T> {
    /// Broadcasts the tensor to a larger shape; the added elements repeat those of axes of length 1.
    ///
    /// # Panics
    ///
    /// When the tensor does not broadcast to the shape.
    #[must_use]
    #[track_caller]
    pub fn broadcast_to(&self, shape: impl Into<Shape>) -> Self {
        let shape = shape.into().known();
        if !fits(&self.shape, &shape) {
            let what = format!("a tensor of shape {:?} does not broadcast to shape {shape:?}", &*self.shape);
            Misuse::new(what, Site::here())
                .value("the tensor", self.array.var())
                .hint("axes are added in front, and an axis of length 1 takes any length; no other length changes")
                .panic();
        }
        self.spread_to(&shape)
    }

    /// Broadcasts the tensor to a shape that is known to match.
    #[track_caller]
    pub(super) fn spread_to(&self, shape: &[Size]) -> Self {
        if happens_to_be_shape(&self.shape, shape) {
            return self.clone();
        }
        if self.array.grad_enabled() {
            return spread_with_gradients(self, shape);
        }
        Tensor::shaped(spread(&self.shape, shape).read(&self.array), shape)
    }

    /// Returns the elements for an operation whose result has a shape. A single element stays single, because arrays
    /// repeat it.
    #[track_caller]
    pub(super) fn lanes(&self, shape: &[Size]) -> Array<T> {
        if self.shape.iter().all(|length| is(*length, 1)) { self.array.clone() } else { self.spread_to(shape).array }
    }

    /// Applies a function of arrays to the elements of two tensors, broadcast to a common shape.
    ///
    /// # Panics
    ///
    /// When the shapes do not broadcast, or the function returns another number of elements.
    #[must_use]
    #[track_caller]
    pub fn zip_with<U: Element, R: Element>(
        &self,
        other: &Tensor<U>,
        function: impl FnOnce(&Array<T>, &Array<U>) -> Array<R>,
    ) -> Tensor<R> {
        let shape = common_shape([&*self.shape, &*other.shape]);
        let array = function(&self.lanes(&shape), &other.lanes(&shape));
        let array = super::filled(array, product(&shape));
        Tensor::shaped(array, &shape)
    }

    /// Like [`Tensor::zip_with`], with three tensors.
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
        let array = super::filled(array, product(&shape));
        Tensor::shaped(array, &shape)
    }
}
