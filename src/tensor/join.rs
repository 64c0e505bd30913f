//! Joining, splitting and repeating tensors.

use std::borrow::Borrow;

use jit_core::misuse::Misuse;
use jit_core::piecewise::{Pieces, begins};

use super::lengths::{Sizes, is, is_same_shape, number, product};
use super::shape::element_count;
use super::view::{Stride, View, ViewAxis, coordinates, number_of, strides};
use super::{Axis, Tensor};
use crate::Site;
use crate::{Array, Element, Mask, Size, UInt};

impl<T: Element> Tensor<T> {
    /// Concatenates tensors along an axis. Their other axes have equal lengths.
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// let (a, b) = (Tensor::from([[1, 2]]), Tensor::from([[3, 4], [5, 6]]));
    /// assert_eq!(Tensor::concat(&[a, b], 0).shape(), [3, 2]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there are no tensors, and when other lengths or the numbers of axes differ.
    #[must_use]
    #[track_caller]
    pub fn concat(tensors: &[impl Borrow<Tensor<T>>], axis: impl Into<Axis>) -> Self {
        let Some(first) = tensors.first().map(Borrow::borrow) else {
            Misuse::new("there are no tensors to join", Site::here()).hint("pass at least one").panic()
        };
        let axis = axis.into().resolve(&first.shape);
        // No closure, so that the reported line is that of our caller.
        for other in tensors {
            check_joins(&first.shape, &other.borrow().shape, axis);
        }
        let parts: Vec<&Tensor<T>> =
            tensors.iter().map(Borrow::borrow).filter(|part| !is(part.shape[axis], 0)).collect();
        match parts[..] {
            [] => first.clone(),
            [only] => only.clone(),
            _ => joined(&parts, axis),
        }
    }

    /// Stacks tensors of one shape along a new axis, which gets the given number.
    ///
    /// # Panics
    ///
    /// When there are no tensors, and when their shapes differ.
    #[must_use]
    #[track_caller]
    pub fn stack(tensors: &[impl Borrow<Tensor<T>>], axis: impl Into<Axis>) -> Self {
        let Some(first) = tensors.first().map(Borrow::borrow) else {
            Misuse::new("there are no tensors to stack", Site::here()).hint("pass at least one").panic()
        };
        let axis = axis.into().resolve_new(&first.shape);
        // No closure, so that the reported line is that of our caller.
        for other in tensors {
            check_stacks(&first.shape, &other.borrow().shape);
        }
        let expanded: Vec<Self> = tensors.iter().map(|tensor| tensor.borrow().expand_dims(axis)).collect();
        Tensor::concat(&expanded, axis)
    }

    /// Splits the tensor into equal parts along an axis.
    ///
    /// # Panics
    ///
    /// When the length of the axis is not a multiple of the number of parts.
    #[must_use]
    #[track_caller]
    pub fn split(&self, parts: usize, axis: impl Into<Axis>) -> Vec<Self> {
        let axis = axis.into().resolve(&self.shape);
        let length = self.shape[axis];
        if parts == 0 || length % parts != 0 {
            let what = format!("axis {axis} of length {length} cannot be split into {parts} equal parts");
            Misuse::new(what, Site::here()).hint("`split_at` takes the positions to split at").panic();
        }
        let step = length / parts;
        let mut all = Vec::with_capacity(parts);
        for part in 0..parts {
            all.push(self.part(axis, step * part, step));
        }
        all
    }

    /// Splits the tensor along an axis at given places, in ascending order. There is one part more than places.
    ///
    /// # Panics
    ///
    /// When places are not ascending or beyond the end of the axis.
    #[must_use]
    #[track_caller]
    pub fn split_at(&self, places: &[usize], axis: impl Into<Axis>) -> Vec<Self> {
        let axis = axis.into().resolve(&self.shape);
        let length = self.shape[axis];
        if !places.is_sorted() || places.last().is_some_and(|&last| length < last) {
            let what = format!("axis {axis} of length {length} cannot be split at {places:?}");
            Misuse::new(what, Site::here()).hint("positions ascend from 0 to the length of the axis").panic();
        }
        let mut begin = Size::from(0);
        let mut parts = Vec::with_capacity(places.len() + 1);
        for end in places.iter().map(|&place| Size::from(place)).chain([length]) {
            parts.push(self.part(axis, begin, end - begin));
            begin = end;
        }
        parts
    }

    /// Returns a range along an axis.
    #[track_caller]
    fn part(&self, axis: usize, begin: Size, length: Size) -> Self {
        let mut view = View::of(&self.shape);
        let length = length.settled();
        view.offset = if is(length, 0) { length } else { begin * view.axes[axis].stride.distance };
        view.axes[axis].length = length;
        self.viewed(&view)
    }

    /// Repeats the whole tensor: `times[i]` times along axis `i`. If there are fewer numbers than axes, they are for
    /// the last axes; if there are more, axes are added in front.
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// assert_eq!(Tensor::from([1, 2]).tile(&[2, 2]).to_vec()?, [1, 2, 1, 2, 1, 2, 1, 2]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn tile(&self, times: &[usize]) -> Self {
        let count = times.len().max(self.ndim());
        let mut shape = Sizes::from_elem(Size::from(1), count - self.ndim());
        shape.extend_from_slice(&self.shape);
        let ones = std::iter::repeat_n(1, count - times.len());
        let times: Vec<usize> = ones.chain(times.iter().copied()).collect();
        let steps = strides(&shape);
        let axes = (0..count).flat_map(|axis| {
            let whole = ViewAxis { length: times[axis].into(), stride: Stride::none() };
            [whole, ViewAxis { length: shape[axis], stride: steps[axis].into() }]
        });
        let view = View { axes: axes.collect(), offset: Size::from(0) };
        let result: Sizes = shape.iter().zip(&times).map(|(&length, &times)| length * times).collect();
        element_count(&result);
        Tensor::shaped(view.read(&self.array), &result)
    }

    /// Repeats each element along an axis.
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// assert_eq!(Tensor::from([1, 2]).repeat(3, 0).to_vec()?, [1, 1, 1, 2, 2, 2]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn repeat(&self, times: impl Into<Size>, axis: impl Into<Axis>) -> Self {
        let axis = axis.into().resolve(&self.shape);
        let mut view = View::of(&self.shape);
        let times = times.into().settled();
        view.axes.insert(axis + 1, ViewAxis { length: times, stride: Stride::none() });
        let mut shape = Sizes::from_slice(&self.shape);
        shape[axis] = shape[axis] * times;
        element_count(&shape);
        Tensor::shaped(view.read(&self.array), &shape)
    }

    /// Repeats each element along an axis as often as a list states.
    ///
    /// # Panics
    ///
    /// When the list and the axis have different lengths.
    #[must_use]
    #[track_caller]
    pub fn repeat_each(&self, times: &[usize], axis: impl Into<Axis>) -> Self {
        let axis = axis.into().resolve(&self.shape);
        if self.shape[axis] != times.len() {
            let what =
                format!("{} counts do not match axis {axis}, which has length {}", times.len(), self.shape[axis]);
            Misuse::new(what, Site::here()).hint("pass one count for each element along the axis").panic();
        }
        let positions: Vec<u32> = times
            .iter()
            .enumerate()
            .flat_map(|(position, &times)| std::iter::repeat_n(position as u32, times))
            .collect();
        self.take(axis, Array::from(positions))
    }

    /// Rotates the elements along an axis; those shifted out at one end come back in at the other.
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// assert_eq!(Tensor::from([1, 2, 3, 4]).roll(1, 0).to_vec()?, [4, 1, 2, 3]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn roll(&self, shift: isize, axis: impl Into<Axis>) -> Self {
        let axis = axis.into().resolve(&self.shape);
        let length = self.shape[axis];
        if shift == 0 || self.is_empty() || is(length, 1) {
            return self.clone();
        }
        let distance = Size::from(shift.unsigned_abs()) % length;
        if is(distance, 0) {
            return self.clone();
        }
        let back = if shift > 0 { length - distance } else { distance };
        let count = self.width();
        let mut at = coordinates(&self.shape, &UInt::arange(count));
        let moved = &at[axis] + number(back);
        at[axis] = moved.ge(number(length)).select(&moved - number(length), &moved);
        let array = self.array.gather(&number_of(&self.shape, &at));
        Tensor::shaped(super::filled(array, count), &self.shape)
    }
}

#[track_caller]
fn check_stacks(first: &[Size], other: &[Size]) {
    if is_same_shape(first, other) {
        return;
    }
    let what = format!("tensors of shape {first:?} and {other:?} cannot be stacked");
    Misuse::new(what, Site::here()).hint("stacked tensors have one shape; `concat` joins along an axis").panic()
}

#[track_caller]
fn check_joins(first: &[Size], other: &[Size], axis: usize) {
    if first.len() == other.len()
        && is_same_shape(&first[..axis], &other[..axis])
        && is_same_shape(&first[axis + 1..], &other[axis + 1..])
    {
        return;
    }
    let what = format!("tensors of shape {first:?} and {other:?} cannot be joined along axis {axis}");
    Misuse::new(what, Site::here()).hint("all axes but the one that is joined must have equal lengths").panic()
}

/// Reads each element from the part that contains it.
#[track_caller]
fn joined<T: Element>(parts: &[&Tensor<T>], axis: usize) -> Tensor<T> {
    let mut shape = Sizes::from_slice(&parts[0].shape);
    shape[axis] = parts.iter().fold(Size::from(0), |sum, part| sum + part.shape[axis]).settled();
    let count = element_count(&shape);
    if is(count, 0) || shape[..axis].iter().all(|length| is(*length, 1)) {
        let arrays: Vec<&Array<T>> = parts.iter().map(|part| &part.array).collect();
        return Tensor::shaped(super::filled(Array::concat(&arrays), count), &shape);
    }
    // The elements within the axis are contiguous, in the parts as in the result.
    let inner = product(&shape[axis + 1..]);
    let run = shape[axis] * inner;
    let lane = UInt::arange(count);
    let (outer, within) = (&lane / number(run), &lane % number(run));
    let lengths: Vec<Size> = parts.iter().map(|part| part.shape[axis] * inner).collect();
    let (begins, _) = begins(lengths.iter().copied());
    let read = |piece: usize, mask: Option<&Mask>| {
        let (array, length, begin) = (&parts[piece].array, lengths[piece], begins[piece]);
        let index = &outer * number(length) + (&within - number(begin));
        mask.map_or_else(|| array.gather(&index), |mask| array.gather_masked(&index, mask)).into_var()
    };
    let array = Array::from_var(Pieces { place: &within, begins: &begins, read: &read }.join());
    Tensor::shaped(super::filled(array, count), &shape)
}
