//! Where the elements of a result come from, when they lie in a source at regular steps.

use crate::{Array, Element, UInt};

/// One axis of a view: how many elements, and how far apart they lie in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ViewAxis {
    pub(super) length: usize,
    pub(super) stride: isize,
}

/// A way to read a source as if it had another shape.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) axes: Vec<ViewAxis>,
    /// Where the first element lies.
    pub(super) offset: isize,
}

/// How far apart neighbours lie along each axis of a row-major shape.
pub(super) fn strides(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis] as isize;
    }
    strides
}

impl View {
    /// The elements of a row-major shape in their order.
    pub(super) fn of(shape: &[usize]) -> Self {
        let axes = shape.iter().zip(strides(shape)).map(|(&length, stride)| ViewAxis { length, stride }).collect();
        View { axes, offset: 0 }
    }

    /// The lengths of the axes.
    pub(super) fn shape(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.length).collect()
    }

    /// The number of elements.
    pub(super) fn len(&self) -> usize {
        self.axes.iter().map(|axis| axis.length).product()
    }

    /// The elements, in row-major order of the view. The array itself if that is what they are.
    #[track_caller]
    pub(super) fn read<T: Element>(&self, source: &Array<T>) -> Array<T> {
        let count = self.len();
        if count == 0 {
            return Array::zeros(0);
        }
        let axes = self.merged();
        if self.offset == 0 && count == source.len() && is_in_order(&axes) {
            return source.clone();
        }
        if axes.iter().all(|axis| axis.stride == 0) {
            // One element, which is read once.
            let element = source.gather(&UInt::from(self.offset as u32));
            return if count == 1 { element } else { element.gather(&UInt::zeros(count)) };
        }
        source.gather(&position(&axes, self.offset, &UInt::arange(count)))
    }

    /// The position in the source of the elements with given numbers.
    #[track_caller]
    pub(super) fn position(&self, number: &UInt) -> UInt {
        position(&self.merged(), self.offset, number)
    }

    /// The position in the source of each element.
    #[track_caller]
    pub(super) fn positions(&self) -> UInt {
        let index = self.position(&UInt::arange(self.len()));
        if index.len() == self.len() { index } else { index.gather(&UInt::zeros(self.len())) }
    }

    /// As few axes as describe the same elements in the same order.
    fn merged(&self) -> Vec<ViewAxis> {
        let mut merged: Vec<ViewAxis> = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().filter(|axis| axis.length != 1) {
            match merged.last_mut() {
                Some(outer) if outer.stride == axis.stride * axis.length as isize => {
                    *outer = ViewAxis { length: outer.length * axis.length, stride: axis.stride };
                }
                _ => merged.push(*axis),
            }
        }
        merged
    }
}

fn is_in_order(axes: &[ViewAxis]) -> bool {
    matches!(axes, [] | [ViewAxis { stride: 1, .. }])
}

/// The position of elements by their numbers. Modulo 2^32, as steps may be negative.
#[track_caller]
fn position(axes: &[ViewAxis], offset: isize, number: &UInt) -> UInt {
    let mut sum = UInt::from(offset as u32);
    let mut inner = 1u32;
    for (place, axis) in axes.iter().enumerate().rev() {
        if axis.stride != 0 {
            let quotient = number / inner;
            let coordinate = if place == 0 { quotient } else { quotient % axis.length as u32 };
            sum = coordinate * (axis.stride as u32) + sum;
        }
        inner *= axis.length as u32;
    }
    sum
}

/// The coordinates, along each axis, of elements with given numbers in a row-major shape.
#[track_caller]
pub(super) fn coordinates(shape: &[usize], number: &UInt) -> Vec<UInt> {
    let mut inner = 1u32;
    let mut coordinates = Vec::with_capacity(shape.len());
    for (axis, &length) in shape.iter().enumerate().rev() {
        let is_outermost = shape[..axis].iter().all(|&length| length == 1);
        let quotient = number / inner;
        coordinates.push(if is_outermost { quotient } else { quotient % length as u32 });
        inner = inner.wrapping_mul(length as u32);
    }
    coordinates.reverse();
    coordinates
}

/// The number of an element in a row-major shape, from its coordinates.
#[track_caller]
pub(super) fn number_of(shape: &[usize], coordinates: &[UInt]) -> UInt {
    let terms = coordinates.iter().zip(strides(shape)).zip(shape);
    let terms = terms.filter(|(_, length)| **length != 1).map(|((coordinate, stride), _)| coordinate * (stride as u32));
    terms.reduce(|sum, term| sum + term).unwrap_or_else(|| UInt::from(0))
}
