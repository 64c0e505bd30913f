//! Reductions along axes.
//!
//! All take the axes that they reduce: `..` for all, a number, or several; [`keep_dims`](super::keep_dims) retains them
//! with length 1. The result stays on the device. If no axis is named (an empty list), each element is reduced by
//! itself.

use std::ops::RangeInclusive;

use jit_core::misuse::Misuse;
use jit_core::root_of_squares;

use super::fold::fold_rows;
use super::lengths::{Sizes, is, is_empty, number, product};
use super::view::{coordinates, number_of};
use super::{Axes, Tensor};
use crate::{Array, Element, FloatElement, Logic, Number, ReduceOp, Size, UInt};

/// Sums of more neighbours than this are computed from sums of …
const LONG_SUM: usize = 2048;
/// … so many.
const PART: RangeInclusive<usize> = 256..=LONG_SUM;

/// A reduction: its operation, and how it combines two elements.
pub(super) struct Operation<T: Element> {
    pub(super) op: ReduceOp,
    pair: fn(&Array<T>, &Array<T>) -> Array<T>,
}

impl<T: Element> Tensor<T> {
    /// Returns the shape after a reduction of some axes.
    pub(super) fn reduced_shape(&self, axes: &[usize], keeps: bool) -> Sizes {
        let lengths = self.shape.iter().enumerate().filter(|(axis, _)| keeps || !axes.contains(axis));
        lengths.map(|(axis, &length)| if axes.contains(&axis) { Size::from(1) } else { length }).collect()
    }

    #[track_caller]
    pub(super) fn reduced(&self, axes: Axes, operation: &Operation<T>) -> Self {
        let named = axes.resolve(&self.shape);
        let shape = self.reduced_shape(&named, axes.keeps);
        let array = if is_empty(&shape) {
            self.array.slice(0..0)
        } else if is(self.count_along(&axes), 0) {
            super::filled(self.array.reduce(operation.op), product(&shape))
        } else {
            let (block, rest) = self.trailing(&named);
            let array = in_blocks(&self.array, operation.op, block);
            folded(array, rest, &named, operation.pair)
        };
        Tensor::shaped(array, &shape)
    }

    /// Returns the number of neighbouring elements in memory that some axes reduce, and the shape after that.
    #[track_caller]
    fn trailing(&self, axes: &[usize]) -> (Size, Sizes) {
        let mut rest = Sizes::from_slice(&self.shape);
        let mut block = Size::from(1);
        for (axis, length) in rest.iter_mut().enumerate().rev() {
            if axes.contains(&axis) {
                block = block * std::mem::replace(length, Size::from(1));
            } else if !is(*length, 1) {
                break;
            }
        }
        (block, rest)
    }
}

/// Combines each block of neighbours. A long sum is computed from shorter ones if its length has a suitable divisor, so
/// that its error stays that of short sums.
#[track_caller]
fn in_blocks<T: Element>(array: &Array<T>, op: ReduceOp, block: Size) -> Array<T> {
    let is_rounded = T::TYPE.is_float() && matches!(op, ReduceOp::Add | ReduceOp::Mul);
    if !is_rounded || block <= LONG_SUM || block >= array.width() {
        return array.block_reduce(op, block);
    }
    // The possible parts depend on the divisors.
    let block = block.get();
    match PART.rev().find(|part| block.is_multiple_of(*part)) {
        Some(part) => in_blocks(&array.block_reduce(op, part), op, (block / part).into()),
        None => array.block_reduce(op, block),
    }
}

/// Combines the elements along some axes: neighbouring ones together, the last ones first.
#[track_caller]
fn folded<T: Element>(
    mut array: Array<T>,
    mut shape: Sizes,
    axes: &[usize],
    pair: fn(&Array<T>, &Array<T>) -> Array<T>,
) -> Array<T> {
    let is_folded = |shape: &Sizes, axis: usize| axes.contains(&axis) && !is(shape[axis], 1);
    while let Some(last) = (0..shape.len()).rfind(|&axis| is_folded(&shape, axis)) {
        let first = (0..last).rfind(|&axis| !axes.contains(&axis) && !is(shape[axis], 1)).map_or(0, |axis| axis + 1);
        let lengths = [&shape[..first], &shape[first..=last], &shape[last + 1..]].map(product);
        array = fold_rows(&array, lengths, pair);
        shape[first..=last].fill(Size::from(1));
    }
    array
}

/// Sums and products of halves are computed in single precision.
#[track_caller]
fn in_single<T: Element>(tensor: &Tensor<T>, axes: Axes, operation: Operation<f32>) -> Tensor<T> {
    tensor.cast::<f32>().reduced_with_gradients(axes, operation).cast()
}

fn is_half<T: Element>() -> bool {
    T::TYPE.is_float() && T::TYPE.bits() == 16
}

fn adding<T: Number>() -> Operation<T> {
    Operation { op: ReduceOp::Add, pair: |a, b| a + b }
}

fn multiplying<T: Number>() -> Operation<T> {
    Operation { op: ReduceOp::Mul, pair: |a, b| a * b }
}

fn minimum<T: Number>() -> Operation<T> {
    Operation { op: ReduceOp::Min, pair: |a, b| a.min(b) }
}

fn maximum<T: Number>() -> Operation<T> {
    Operation { op: ReduceOp::Max, pair: |a, b| a.max(b) }
}

impl<T: Number> Tensor<T> {
    /// Returns the sum along axes; 0 for no elements. Integers wrap. Halves are summed in single precision.
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// let x = Tensor::from([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// assert_eq!(x.sum(..).item()?, 21.0);
    /// assert_eq!(x.sum(0).to_vec()?, [5.0, 7.0, 9.0]);
    /// assert_eq!(x.sum(-1).to_vec()?, [6.0, 15.0]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn sum(&self, axes: impl Into<Axes>) -> Self {
        let axes = axes.into();
        if is_half::<T>() {
            return in_single(self, axes, adding());
        }
        self.reduced_with_gradients(axes, adding())
    }

    /// Returns the product along axes; 1 for no elements. Integers wrap. Halves are multiplied in single precision.
    #[must_use]
    #[track_caller]
    pub fn product(&self, axes: impl Into<Axes>) -> Self {
        let axes = axes.into();
        if is_half::<T>() {
            return in_single(self, axes, multiplying());
        }
        self.reduced_with_gradients(axes, multiplying())
    }

    /// Returns the smallest element along axes; NaN if any is NaN. For no elements: infinity, or the largest integer.
    #[must_use]
    #[track_caller]
    pub fn reduce_min(&self, axes: impl Into<Axes>) -> Self {
        self.reduced_with_gradients(axes.into(), minimum())
    }

    /// Returns the largest element along axes; NaN if any is NaN. For no elements: minus infinity, or the smallest
    /// integer.
    #[must_use]
    #[track_caller]
    pub fn reduce_max(&self, axes: impl Into<Axes>) -> Self {
        self.reduced_with_gradients(axes.into(), maximum())
    }

    /// Returns the position of the smallest element along an axis, the first one of several; NaN beats any number.
    ///
    /// # Panics
    ///
    /// When the axis has no elements.
    #[must_use]
    #[track_caller]
    pub fn argmin(&self, axes: impl Into<Axes>) -> Tensor<u32> {
        self.found(axes.into(), &minimum())
    }

    /// Returns the position of the largest element along an axis, the first one of several; NaN beats any number. For
    /// several axes, it is the position among their elements in row-major order.
    ///
    /// # Panics
    ///
    /// When the axis has no elements.
    #[must_use]
    #[track_caller]
    pub fn argmax(&self, axes: impl Into<Axes>) -> Tensor<u32> {
        self.found(axes.into(), &maximum())
    }

    /// Returns the position of the best element along axes: the first element that is equal to it, or NaN like it.
    #[track_caller]
    fn found(&self, axes: Axes, operation: &Operation<T>) -> Tensor<u32> {
        let named = axes.resolve(&self.shape);
        let (shape, length) = (self.reduced_shape(&named, axes.keeps), self.count_along(&axes));
        if is(length, 0) && !is_empty(&shape) {
            let what = format!("there is no minimum or maximum along axes {named:?} of shape {:?}", &*self.shape);
            Misuse::new(what, crate::Site::here()).hint("an axis of length 0 has no smallest element").panic();
        }
        if is_empty(&shape) {
            return Tensor::shaped(Array::zeros(0), &shape);
        }
        let best = self.reduced(super::keep_dims(axes.clone()), operation).spread_to(&self.shape);
        let is_best = self.array.eq(best.array) | self.array.ne(&self.array);
        let position = self.with_array(is_best.select(self.positions_along(&named), u32::MAX));
        position.reduced(axes, &minimum())
    }

    /// Returns the position of each element among those that differ from it only along some axes, in row-major order.
    #[track_caller]
    fn positions_along(&self, axes: &[usize]) -> UInt {
        let lane = UInt::arange(self.width());
        let (block, rest) = self.trailing(axes);
        if product(&rest).is_always(product(&self.reduced_shape(axes, false))) {
            return lane % number(block);
        }
        let all = coordinates(&self.shape, &lane);
        let along = |axis: &usize| axes.contains(axis);
        let lengths: Sizes = (0..self.ndim()).filter(along).map(|axis| self.shape[axis]).collect();
        let places: Vec<UInt> = (0..self.ndim()).filter(along).map(|axis| all[axis].clone()).collect();
        number_of(&lengths, &places)
    }
}

impl<T: FloatElement> Tensor<T> {
    /// Returns the mean along axes; NaN for no elements. Halves are summed in single precision.
    #[must_use]
    #[track_caller]
    pub fn mean(&self, axes: impl Into<Axes>) -> Self {
        let axes = axes.into();
        let count = self.count_along(&axes);
        if is_half::<T>() {
            return (self.cast::<f32>().reduced_with_gradients(axes, adding()) / Array::<f32>::from(count)).cast();
        }
        self.reduced_with_gradients(axes, adding()) / Array::<T>::from(count)
    }

    /// Returns the mean square distance from the mean along axes. The sum of squares is divided by the number of
    /// elements minus `ddof`: 0 for a whole population, 1 for a sample.
    #[must_use]
    #[track_caller]
    pub fn var(&self, axes: impl Into<Axes>, ddof: u32) -> Self {
        let axes = axes.into();
        if is_half::<T>() {
            return self.cast::<f32>().var(axes, ddof).cast();
        }
        let ddof = Size::from(ddof as usize);
        let freedom = self.count_along(&axes).max(ddof) - ddof;
        let distance = self - self.mean(super::keep_dims(axes.clone()));
        (&distance * &distance).reduced_with_gradients(axes, adding()) / Array::<T>::from(freedom)
    }

    /// Returns the standard deviation along axes, the square root of [`Tensor::var`]. Where it is zero, so is
    /// its derivative.
    #[must_use]
    #[track_caller]
    pub fn std(&self, axes: impl Into<Axes>, ddof: u32) -> Self {
        self.var(axes, ddof).map(root_of_squares)
    }

    /// Returns the square root of the sum of the squares along axes. Halves are computed in single precision. Where it
    /// is zero, so is its derivative.
    #[must_use]
    #[track_caller]
    pub fn norm(&self, axes: impl Into<Axes>) -> Self {
        if T::TYPE.bits() == 16 {
            return self.cast::<f32>().norm(axes).cast();
        }
        (self * self).sum(axes).map(root_of_squares)
    }
}

impl<T: Element> Tensor<T> {
    /// Returns the number of elements that a result of a reduction combines.
    #[track_caller]
    pub(super) fn count_along(&self, axes: &Axes) -> Size {
        let lengths: Sizes = axes.resolve(&self.shape).into_iter().map(|axis| self.shape[axis]).collect();
        product(&lengths)
    }
}

impl<T: Logic> Tensor<T> {
    /// Reduces all elements along axes by bitwise (logical) and; all ones (true) for none.
    #[must_use]
    #[track_caller]
    pub fn reduce_and(&self, axes: impl Into<Axes>) -> Self {
        self.reduced(axes.into(), &Operation { op: ReduceOp::And, pair: |a, b| a & b })
    }

    /// Reduces all elements along axes by bitwise (logical) or; zero (false) for none.
    #[must_use]
    #[track_caller]
    pub fn reduce_or(&self, axes: impl Into<Axes>) -> Self {
        self.reduced(axes.into(), &Operation { op: ReduceOp::Or, pair: |a, b| a | b })
    }
}

impl Tensor<bool> {
    /// Returns whether all elements along axes are true; true for none.
    #[must_use]
    #[track_caller]
    pub fn all(&self, axes: impl Into<Axes>) -> Self {
        self.reduce_and(axes)
    }

    /// Returns whether any element along axes is true; false for none.
    #[must_use]
    #[track_caller]
    pub fn any(&self, axes: impl Into<Axes>) -> Self {
        self.reduce_or(axes)
    }

    /// Returns the number of true elements along axes.
    #[must_use]
    #[track_caller]
    pub fn count(&self, axes: impl Into<Axes>) -> Tensor<u32> {
        self.cast::<u32>().sum(axes)
    }
}
