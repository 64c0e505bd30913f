//! Selection along one axis by an array.

use super::index::{Index, IntoIndex};
use super::{Axis, Tensor};
use crate::tensor::lengths::{Sizes, is, number};
use crate::tensor::shape::element_count;
use crate::tensor::view::{coordinates, number_of};
use crate::{Array, Element, FloatElement, Number, UInt};

impl<T: Element> Tensor<T> {
    /// Returns the elements at some positions along an axis. The axes of the index replace that axis. Negative
    /// positions count from the end.
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// let rows = Tensor::from([[1, 2], [3, 4], [5, 6]]);
    /// assert_eq!(rows.take(0, [2, 0]).to_vec()?, [5, 6, 1, 2]);
    /// // The rows in a random order.
    /// let shuffled = rows.take(0, jit::random::rng(0).permutation(3));
    /// assert_eq!(shuffled.sum(0).to_vec()?, [9, 12]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Tensor::slice`].
    #[must_use]
    #[track_caller]
    pub fn take(&self, axis: impl Into<Axis>, index: impl IntoIndex) -> Self {
        let axis = axis.into().resolve(&self.shape);
        let mut indices: Vec<Index> = (0..axis).map(|_| (..).into_index()).collect();
        indices.push(index.into_index());
        self.slice(indices)
    }
}

impl<T: Number> Tensor<T> {
    /// Adds parts of another tensor to the parts at some positions along an axis: `self[…, index[i], …] +=
    /// values[…, i, …]`. A position may occur several times; positions beyond the end are left out. The values have the
    /// shape of this tensor, but as many parts along the axis as there are positions, or one that broadcasts to that.
    /// Sums of floats are those of [`Array::scatter_add`].
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// let mut rows = Tensor::from([[0.0f32, 0.0], [10.0, 10.0]]);
    /// let values = Tensor::from([[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    /// rows.scatter_add(0, &UInt::from([1, 0, 1]), &values);
    /// assert_eq!(rows.to_vec()?, [3.0, 4.0, 16.0, 18.0]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the values have another shape.
    #[track_caller]
    pub fn scatter_add(&mut self, axis: impl Into<Axis>, index: &UInt, values: &Tensor<T>) {
        let axis = axis.into().resolve(&self.shape);
        let mut shape = Sizes::from_slice(&self.shape);
        shape[axis] = index.width();
        let values = values.broadcast_to(&shape[..]);
        let count = element_count(&shape);
        if is(count, 0) {
            return;
        }
        let mut at = coordinates(&shape, &UInt::arange(count));
        let position = index.gather(&at[axis]);
        let is_inside = position.lt(number(self.shape[axis]));
        at[axis] = position;
        let place = number_of(&self.shape, &at);
        self.array.scatter_add_masked(&values.array, &place, &is_inside);
    }
}

impl<T: FloatElement> Tensor<T> {
    /// Interpolates linearly between elements along an axis, at fractional positions. Positions beyond the ends yield
    /// the element there; NaN yields NaN. The axis gets the length of the array of positions.
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// let x = Tensor::from([0.0f32, 10.0, 40.0]);
    /// assert_eq!(x.take_interp(0, &Float::from([0.5, 1.5, 9.0])).to_vec()?, [5.0, 25.0, 40.0]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the axis has no elements.
    #[must_use]
    #[track_caller]
    pub fn take_interp(&self, axis: impl Into<Axis>, position: &Array<T>) -> Self {
        let axis = axis.into().resolve(&self.shape);
        let last = self.shape[axis].max(1) - 1;
        let mut shape = Sizes::from_slice(&self.shape);
        shape[axis] = position.width();
        let count = element_count(&shape);
        if is(count, 0) {
            return Tensor::shaped(self.array.slice(0..0), &shape);
        }
        let mut at = coordinates(&shape, &UInt::arange(count));
        let position = position.gather(&at[axis]).clamp(T::default(), Array::<T>::from(last));
        let below = position.floor().cast::<u32>().min(number(last.max(1) - 1));
        let fraction = position - below.cast::<T>();
        at[axis] = below;
        let low = self.array.gather(&number_of(&self.shape, &at));
        at[axis] = (&at[axis] + 1).min(number(last));
        let high = self.array.gather(&number_of(&self.shape, &at));
        let array = fraction.mul_add(high - &low, low);
        Tensor::shaped(super::filled(array, count), &shape)
    }
}
