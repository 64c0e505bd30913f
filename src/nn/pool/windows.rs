//! The elements of windows, and where their maximum is.

use crate::tensor::{Shape, Tensor};
use crate::{Array, FloatElement, Mask, Size, UInt, jit};

/// One axis of windows.
pub(super) struct WindowAxis {
    /// The length of the axis.
    pub(super) length: Size,
    /// The first element of each window. Before the edge it wraps to a number beyond the other edge.
    pub(super) start: UInt,
    /// The number of elements of each window.
    pub(super) count: UInt,
    /// The distance of its elements.
    pub(super) step: u32,
}

/// The windows over a tensor: one for each element of the result, which are its lanes.
pub(super) struct Windows {
    axes: Vec<WindowAxis>,
    /// The position of the plane, one of a batch and a channel, in which each window is.
    plane: UInt,
}

impl Windows {
    /// Creates the windows of a tensor, whose first two axes are batch and channels, from the coordinates of the
    /// results.
    #[track_caller]
    pub(super) fn new(channels: Size, at: &[UInt], axes: Vec<WindowAxis>) -> Self {
        let plane =
            axes.iter().fold(&at[0] * UInt::from(channels) + &at[1], |plane, axis| plane * UInt::from(axis.length));
        Windows { axes, plane }
    }

    /// Returns the number of elements of each window, with those beyond the edges.
    #[track_caller]
    pub(super) fn count(&self) -> UInt {
        self.axes.iter().fold(UInt::from(1), |count, axis| count * &axis.count)
    }

    /// Returns the position of an element of each window, and whether it is inside.
    #[track_caller]
    fn element(&self, tap: &UInt) -> (UInt, Mask) {
        let (mut rest, mut stride) = (tap.clone(), UInt::from(1));
        let (mut position, mut is_inside) = (self.plane.clone(), Mask::from(true));
        for axis in self.axes.iter().rev() {
            let at = &axis.start + (&rest % &axis.count) * axis.step;
            is_inside &= at.lt(UInt::from(axis.length));
            position += at * &stride;
            rest /= &axis.count;
            stride *= UInt::from(axis.length);
        }
        (position, is_inside)
    }
}

/// Returns a tensor that has the largest element of each window. Of equal ones it is the first one, and NaN is larger
/// than all numbers.
#[track_caller]
pub(super) fn maxima<T: FloatElement>(
    x: &Tensor<T>,
    shape: impl Into<Shape>,
    windows: impl FnOnce(&[UInt]) -> Windows,
) -> Tensor<T> {
    let source = x.array().clone();
    Tensor::from_fn(shape, |at| {
        let place = crate::ad::suspend(|| place_of_maximum(&source.detach(), &windows(at)));
        source.gather(&place)
    })
}

/// Returns a tensor that has the mean of each window, none of which extends beyond an edge.
#[track_caller]
pub(super) fn means<T: FloatElement>(
    x: &Tensor<T>,
    shape: impl Into<Shape>,
    windows: impl FnOnce(&[UInt]) -> Windows,
) -> Tensor<T> {
    let source = x.array().clone();
    Tensor::from_fn(shape, |at| {
        let windows = windows(at);
        sum_of_elements(&source, &windows) / windows.count().cast::<T>()
    })
}

#[jit]
fn place_of_maximum<T: FloatElement>(source: &Array<T>, windows: &Windows) -> UInt {
    let count = windows.count();
    let (mut place, mut is_found) = (windows.plane.zeros_like(), windows.plane.ne(&windows.plane));
    let mut largest = source.gather(&place);
    let mut tap = UInt::from(0);
    while tap < count {
        let (position, is_inside) = windows.element(&tap);
        let element = source.gather_masked(&position, &is_inside);
        let is_larger = element.gt(&largest) | element.is_nan() | !&is_found;
        if is_inside & is_larger {
            largest = element.clone();
            place = position.clone();
            is_found = is_inside.clone();
        }
        tap += 1;
    }
    place
}

#[jit]
fn sum_of_elements<T: FloatElement>(source: &Array<T>, windows: &Windows) -> Array<T> {
    let count = windows.count();
    let mut sum = Array::<T>::zeros_like(&source.gather(&windows.plane));
    let mut tap = UInt::from(0);
    while tap < count {
        let (position, _) = windows.element(&tap);
        sum = sum + source.gather(&position);
        tap += 1;
    }
    sum
}
