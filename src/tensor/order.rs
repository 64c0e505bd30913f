//! Sorting along an axis, and medians.

use jit_core::misuse::Misuse;

use super::lengths::{is, is_empty, number, product};
use super::{Axes, Axis, Tensor};
use crate::Site;
use crate::{Array, Element, Number, Sorting, UInt};

impl<T: Element> Tensor<T> {
    /// Sorts the elements along an axis in ascending order, each line separately: see [`Array::sort`].
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// let x = Tensor::from([[3, 1, 2], [6, 5, 4]]);
    /// assert_eq!(x.sort(-1).to_vec()?, [1, 2, 3, 4, 5, 6]);
    /// assert_eq!(x.sort(0).to_vec()?, [3, 1, 2, 6, 5, 4]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn sort(&self, axis: impl Into<Axis>) -> Self {
        self.sort_with(axis, Sorting::ascending())
    }

    /// Sorts the elements along an axis in descending order: see [`Array::sort_descending`].
    #[must_use]
    #[track_caller]
    pub fn sort_descending(&self, axis: impl Into<Axis>) -> Self {
        self.sort_with(axis, Sorting::descending())
    }

    /// Returns the positions along an axis of the elements in ascending order; equal ones keep their order: see
    /// [`Array::argsort`].
    #[must_use]
    #[track_caller]
    pub fn argsort(&self, axis: impl Into<Axis>) -> Tensor<u32> {
        self.argsort_with(axis, Sorting::ascending())
    }

    /// Returns the positions along an axis of the elements in descending order; equal ones keep their order.
    #[must_use]
    #[track_caller]
    pub fn argsort_descending(&self, axis: impl Into<Axis>) -> Tensor<u32> {
        self.argsort_with(axis, Sorting::descending())
    }

    #[track_caller]
    fn sort_with(&self, axis: impl Into<Axis>, sorting: Sorting) -> Self {
        let axis = axis.into().resolve(&self.shape);
        if self.is_empty() {
            return self.clone();
        }
        let lines = self.move_axis(axis, -1);
        let array = lines.array.sort_with(sorting.per_block(self.shape[axis]));
        lines.with_array(array).move_axis(-1, axis)
    }

    #[track_caller]
    fn argsort_with(&self, axis: impl Into<Axis>, sorting: Sorting) -> Tensor<u32> {
        let axis = axis.into().resolve(&self.shape);
        if self.is_empty() {
            return self.with_array(UInt::zeros(0));
        }
        let lines = self.move_axis(axis, -1);
        let array = lines.array.argsort_with(sorting.per_block(self.shape[axis]));
        lines.with_array(array).move_axis(-1, axis)
    }
}

impl<T: Number> Tensor<T> {
    /// Returns the median along axes: the middle element of the order, or the lower of the two middle ones. NaN if any
    /// element is NaN.
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// let x = Tensor::from([[9, 1, 5], [2, 4, 8]]);
    /// assert_eq!(x.median(1).to_vec()?, [5, 4]);
    /// assert_eq!(x.median(0).to_vec()?, [2, 1, 5]);
    /// assert_eq!(x.median(..).to_vec()?, [4]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the axes have no elements.
    #[must_use]
    #[track_caller]
    pub fn median(&self, axes: impl Into<Axes>) -> Self {
        let axes = axes.into();
        let named = axes.resolve(&self.shape);
        let shape = self.reduced_shape(&named, axes.keeps);
        let length = self.count_along(&axes);
        if is_empty(&shape) || is(length, 1) {
            return Tensor::shaped(self.array.clone(), &shape);
        }
        if is(length, 0) {
            let what = format!("there is no median along axes {named:?} of shape {:?}", &*self.shape);
            Misuse::new(what, Site::here()).hint("an axis of length 0 has no element in the middle").panic();
        }
        let kept = (0..self.ndim()).filter(|axis| !named.contains(axis));
        let order: Vec<usize> = kept.chain(named.iter().copied()).collect();
        let sorted = self.permuted(&order).array.sort_with(Sorting::ascending().per_block(length));
        let first = UInt::arange(product(&shape)) * number(length);
        let middle = sorted.gather(&(&first + number((length - 1) / 2)));
        Tensor::shaped(nan_or(&middle, &sorted.gather(&(first + number(length - 1)))), &shape)
    }
}

/// Returns the last element of the order if it is NaN, since NaN come last.
#[track_caller]
fn nan_or<T: Number>(middle: &Array<T>, last: &Array<T>) -> Array<T> {
    if T::TYPE.is_float() { last.ne(last).select(last, middle) } else { middle.clone() }
}
