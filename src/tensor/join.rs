//! Joining tensors, taking them apart, repeating them.

use std::borrow::Borrow;
use std::panic::Location;

use jit_core::trace::misuse::Misuse;

use super::shape::element_count;
use super::view::{View, ViewAxis, coordinates, number_of, strides};
use super::{Axis, Tensor};
use crate::{Array, Element, UInt};

impl<T: Element> Tensor<T> {
    /// Tensors one behind the other along an axis. Their other axes have equal lengths.
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
    /// Without tensors, and when other lengths or the numbers of axes differ.
    #[must_use]
    #[track_caller]
    pub fn concat(tensors: &[impl Borrow<Tensor<T>>], axis: impl Into<Axis>) -> Self {
        let Some(first) = tensors.first().map(Borrow::borrow) else {
            Misuse::new("no tensors to join", Location::caller()).hint("give at least one").panic()
        };
        let axis = axis.into().resolve(&first.shape);
        // No closure: the user's line is that of our caller.
        for other in tensors {
            check_joins(&first.shape, &other.borrow().shape, axis);
        }
        let parts: Vec<&Tensor<T>> = tensors.iter().map(Borrow::borrow).filter(|part| part.shape[axis] != 0).collect();
        match parts[..] {
            [] => first.clone(),
            [only] => only.clone(),
            _ => joined(&parts, axis),
        }
    }

    /// Tensors of one shape side by side along a new axis, which gets the given number.
    ///
    /// # Panics
    ///
    /// Without tensors, and when their shapes differ.
    #[must_use]
    #[track_caller]
    pub fn stack(tensors: &[impl Borrow<Tensor<T>>], axis: impl Into<Axis>) -> Self {
        let Some(first) = tensors.first().map(Borrow::borrow) else {
            Misuse::new("no tensors to stack", Location::caller()).hint("give at least one").panic()
        };
        let axis = axis.into().resolve_new(&first.shape);
        if let Some(other) = tensors.iter().map(Borrow::borrow).find(|other| other.shape != first.shape) {
            let what = format!("tensors of shape {:?} and {:?} cannot be stacked", first.shape, other.shape);
            Misuse::new(what, Location::caller())
                .hint("stacked tensors have one shape; `concat` joins along an axis")
                .panic();
        }
        let expanded: Vec<Self> = tensors.iter().map(|tensor| tensor.borrow().expand_dims(axis)).collect();
        Tensor::concat(&expanded, axis)
    }

    /// Equal parts along an axis.
    ///
    /// # Panics
    ///
    /// When the length of the axis is no multiple of their number.
    #[must_use]
    #[track_caller]
    pub fn split(&self, parts: usize, axis: impl Into<Axis>) -> Vec<Self> {
        let axis = axis.into().resolve(&self.shape);
        let length = self.shape[axis];
        if parts == 0 || !length.is_multiple_of(parts) {
            let what = format!("axis {axis} of length {length} cannot be split into {parts} equal parts");
            Misuse::new(what, Location::caller()).hint("`split_at` takes the places to split at").panic();
        }
        let step = length / parts;
        (0..parts).map(|part| self.part(axis, part * step, step)).collect()
    }

    /// Parts along an axis that end and begin at given places, in ascending order: one part more than places.
    ///
    /// # Panics
    ///
    /// When places are not ascending or beyond the end of the axis.
    #[must_use]
    #[track_caller]
    pub fn split_at(&self, places: &[usize], axis: impl Into<Axis>) -> Vec<Self> {
        let axis = axis.into().resolve(&self.shape);
        let length = self.shape[axis];
        if !places.is_sorted() || places.last().is_some_and(|&last| last > length) {
            let what = format!("axis {axis} of length {length} cannot be split at {places:?}");
            Misuse::new(what, Location::caller()).hint("places ascend from 0 to the length of the axis").panic();
        }
        let begins = std::iter::once(0).chain(places.iter().copied());
        let ends = places.iter().copied().chain([length]);
        begins.zip(ends).map(|(begin, end)| self.part(axis, begin, end - begin)).collect()
    }

    /// Some neighbours along an axis.
    #[track_caller]
    pub(super) fn part(&self, axis: usize, begin: usize, length: usize) -> Self {
        let mut view = View::of(&self.shape);
        view.offset = if length == 0 { 0 } else { begin as isize * view.axes[axis].stride };
        view.axes[axis].length = length;
        self.viewed(&view)
    }

    /// The tensor repeated as a whole: `times[i]` times along axis `i`, the last axes if there are fewer; axes are added in front
    /// if there are more.
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
        let padded = |values: &[usize]| [vec![1; count - values.len()], values.to_vec()].concat();
        let (shape, times) = (padded(&self.shape), padded(times));
        let steps = strides(&shape);
        let axes = (0..count).flat_map(|axis| {
            let whole = ViewAxis { length: times[axis], stride: 0 };
            [whole, ViewAxis { length: shape[axis], stride: steps[axis] }]
        });
        let view = View { axes: axes.collect(), offset: 0 };
        let result: Vec<usize> = shape.iter().zip(&times).map(|(length, times)| length * times).collect();
        element_count(&result);
        Tensor::new(view.read(&self.array), result)
    }

    /// Each element along an axis repeated.
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// assert_eq!(Tensor::from([1, 2]).repeat(3, 0).to_vec()?, [1, 1, 1, 2, 2, 2]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn repeat(&self, times: usize, axis: impl Into<Axis>) -> Self {
        let axis = axis.into().resolve(&self.shape);
        let mut view = View::of(&self.shape);
        view.axes.insert(axis + 1, ViewAxis { length: times, stride: 0 });
        let mut shape = self.shape.to_vec();
        shape[axis] *= times;
        element_count(&shape);
        Tensor::new(view.read(&self.array), shape)
    }

    /// Each element along an axis repeated as often as a list says.
    ///
    /// # Panics
    ///
    /// When the list has another length than the axis.
    #[must_use]
    #[track_caller]
    pub fn repeat_each(&self, times: &[usize], axis: impl Into<Axis>) -> Self {
        let axis = axis.into().resolve(&self.shape);
        if times.len() != self.shape[axis] {
            let what =
                format!("{} counts do not belong to axis {axis}, which has length {}", times.len(), self.shape[axis]);
            Misuse::new(what, Location::caller()).hint("one count for each element along the axis").panic();
        }
        let positions: Vec<u32> = times
            .iter()
            .enumerate()
            .flat_map(|(position, &times)| std::iter::repeat_n(position as u32, times))
            .collect();
        self.take(axis, Array::from(positions))
    }

    /// The elements shifted along an axis; those that leave it at one end enter at the other.
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
        if length == 0 || shift.rem_euclid(length as isize) == 0 {
            return self.clone();
        }
        let back = length as u32 - shift.rem_euclid(length as isize) as u32;
        self.moved(axis, length, |at| (at + back) % length as u32)
    }

    /// The elements at positions along one axis that a function finds, from the coordinates along a new axis.
    #[track_caller]
    pub(super) fn moved(&self, axis: usize, length: usize, position: impl FnOnce(&UInt) -> UInt) -> Self {
        let mut shape = self.shape.to_vec();
        shape[axis] = length;
        let count = element_count(&shape);
        if count == 0 {
            return Tensor::new(Array::zeros(0), shape);
        }
        let mut at = coordinates(&shape, &UInt::arange(count));
        at[axis] = position(&at[axis]);
        let array = self.array.gather(&number_of(&self.shape, &at));
        Tensor::new(super::filled(array, count), shape)
    }
}

#[track_caller]
fn check_joins(first: &[usize], other: &[usize], axis: usize) {
    let differs = |(number, (a, b)): (usize, (&usize, &usize))| number != axis && a != b;
    if first.len() == other.len() && !first.iter().zip(other).enumerate().any(differs) {
        return;
    }
    let what = format!("tensors of shape {first:?} and {other:?} cannot be joined along axis {axis}");
    Misuse::new(what, Location::caller()).hint("all axes but the one that is joined must have equal lengths").panic()
}

/// Each element is read from the part that it lies in.
#[track_caller]
fn joined<T: Element>(parts: &[&Tensor<T>], axis: usize) -> Tensor<T> {
    let mut shape = parts[0].shape.to_vec();
    shape[axis] = parts.iter().map(|part| part.shape[axis]).sum();
    let count = element_count(&shape);
    if count == 0 {
        return Tensor::new(Array::zeros(0), shape);
    }
    // What lies within the axis is one run of elements, in the parts as in the result.
    let inner: usize = shape[axis + 1..].iter().product();
    let run = (shape[axis] * inner) as u32;
    let number = UInt::arange(count);
    let (outer, within) = if run as usize == count { (UInt::from(0), number) } else { (&number / run, &number % run) };
    let mut begin = 0u32;
    let mut result: Option<Array<T>> = None;
    for part in parts {
        let length = (part.shape[axis] * inner) as u32;
        let is_inside = within.lt(begin + length) & within.ge(begin);
        let elements = part.array.gather_masked(&(&outer * length + (&within - begin)), &is_inside);
        result = Some(match result {
            Some(others) => is_inside.select(elements, others),
            None => elements,
        });
        begin += length;
    }
    let array = result.unwrap_or_else(|| Array::zeros(count));
    Tensor::new(super::filled(array, count), shape)
}
