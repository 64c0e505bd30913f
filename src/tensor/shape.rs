//! Shapes and axes as arguments, and the errors for shapes that do not match.

use std::fmt;
use std::ops::RangeFull;

use jit_core::misuse::Misuse;
use smallvec::{SmallVec, smallvec};

use super::lengths::{Sizes, is_empty, product};
use crate::Site;
use crate::Size;

/// Lengths of axes, as an argument: an array, slice, vector or tuple of `usize`, `i32` or [`Size`], or one number for a
/// single axis.
///
/// Where the number of elements is known, −1 represents the length that fits, in one axis.
///
/// Sizes stay symbolic in a `#[freeze]` function, for example those of [`Tensor::size`](super::Tensor::size):
///
/// ```
/// use jit::prelude::*;
///
/// let x = Tensor::<f32>::zeros([4, 6]);
/// let halves = x.reshape([x.size(0), x.size(1) / 2, 2.into()]);
/// assert_eq!(halves.shape(), [4, 3, 2]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape(SmallVec<[Length; 4]>);

/// A length as it was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Of(Size),
    /// A negative number.
    Negative(isize),
}

impl From<isize> for Length {
    fn from(length: isize) -> Self {
        usize::try_from(length).map_or(Length::Negative(length), |length| Length::Of(length.into()))
    }
}

impl From<i32> for Length {
    fn from(length: i32) -> Self {
        Length::from(length as isize)
    }
}

impl From<usize> for Length {
    fn from(length: usize) -> Self {
        Length::Of(length.into())
    }
}

impl From<Size> for Length {
    fn from(length: Size) -> Self {
        Length::Of(length)
    }
}

macro_rules! shape_from {
    ($($ty:ty),*) => {$(
        impl From<$ty> for Shape {
            fn from(length: $ty) -> Self {
                Shape(smallvec![length.into()])
            }
        }

        impl<const N: usize> From<[$ty; N]> for Shape {
            fn from(lengths: [$ty; N]) -> Self {
                lengths.as_slice().into()
            }
        }

        impl<const N: usize> From<&[$ty; N]> for Shape {
            fn from(lengths: &[$ty; N]) -> Self {
                lengths.as_slice().into()
            }
        }

        impl From<&[$ty]> for Shape {
            fn from(lengths: &[$ty]) -> Self {
                Shape(lengths.iter().map(|&length| length.into()).collect())
            }
        }

        impl From<($ty,)> for Shape {
            fn from((length,): ($ty,)) -> Self {
                [length].into()
            }
        }

        impl From<($ty, $ty)> for Shape {
            fn from(lengths: ($ty, $ty)) -> Self {
                <[$ty; 2]>::from(lengths).into()
            }
        }

        impl From<($ty, $ty, $ty)> for Shape {
            fn from(lengths: ($ty, $ty, $ty)) -> Self {
                <[$ty; 3]>::from(lengths).into()
            }
        }

        impl From<($ty, $ty, $ty, $ty)> for Shape {
            fn from(lengths: ($ty, $ty, $ty, $ty)) -> Self {
                <[$ty; 4]>::from(lengths).into()
            }
        }

        impl From<Vec<$ty>> for Shape {
            fn from(lengths: Vec<$ty>) -> Self {
                lengths.as_slice().into()
            }
        }

        impl From<&Vec<$ty>> for Shape {
            fn from(lengths: &Vec<$ty>) -> Self {
                lengths.as_slice().into()
            }
        }
    )*};
}

shape_from!(usize, isize, i32, Size);

impl From<()> for Shape {
    /// Returns the shape of a tensor without axes.
    fn from((): ()) -> Self {
        Shape(SmallVec::new())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (position, length) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str(", ")?;
            }
            match length {
                Length::Of(length) => length.fmt(f)?,
                Length::Negative(length) => length.fmt(f)?,
            }
        }
        f.write_str("]")
    }
}

/// The length that is left open.
const OPEN: Length = Length::Negative(-1);

impl Shape {
    /// Returns the lengths, none of which may be left open.
    #[track_caller]
    pub(super) fn known(&self) -> Sizes {
        let mut lengths = Sizes::new();
        for length in &self.0 {
            match length {
                Length::Of(length) => lengths.push(length.settled()),
                Length::Negative(length) => {
                    let what = format!("the shape {self} has an axis of length {length}");
                    Misuse::new(what, Site::here())
                        .hint(
                            "lengths are not negative; −1 represents the length that fits only where the number of \
                            elements is given",
                        )
                        .panic()
                }
            }
        }
        element_count(&lengths);
        lengths
    }

    /// Returns the lengths for a number of elements; one of them may be −1.
    #[track_caller]
    pub(super) fn for_elements(&self, count: Size, describe: &dyn Fn(Misuse) -> Misuse) -> Sizes {
        let open = self.0.iter().filter(|length| **length == OPEN).count();
        if open == 0 {
            let lengths = self.known();
            return if element_count(&lengths) == count { lengths } else { self.refuse(count, describe) };
        }
        let others = Shape(self.0.iter().copied().filter(|length| *length != OPEN).collect()).known();
        let known = element_count(&others);
        if open > 1 || is_empty(&others) || count % known != 0 {
            self.refuse(count, describe);
        }
        let fitting = (count / known).settled();
        self.0.iter().map(|&length| if let Length::Of(length) = length { length } else { fitting }).collect()
    }

    #[cold]
    #[track_caller]
    fn refuse(&self, count: Size, describe: &dyn Fn(Misuse) -> Misuse) -> ! {
        let (what, hint) = if self.0.iter().filter(|length| **length == OPEN).count() > 1 {
            (
                format!("the shape {self} has more than one unknown length"),
                "−1 represents one length, which follows from the others",
            )
        } else if self.0.contains(&OPEN) {
            (
                format!("no length makes {count} elements fill the shape {self}"),
                "the number of elements must be a multiple of the product of the known lengths, which must not be 0",
            )
        } else {
            (
                format!("{count} elements do not fill the shape {self}"),
                "the product of the lengths must be the number of elements",
            )
        };
        describe(Misuse::new(what, Site::here())).hint(hint).panic()
    }
}

/// Returns the number of elements of a shape.
#[track_caller]
pub(super) fn element_count(lengths: &[Size]) -> Size {
    let count = lengths.iter().try_fold(1usize, |product, length| product.checked_mul(length.now()));
    match count {
        _ if is_empty(lengths) => Size::from(0),
        Some(count) if u32::try_from(count).is_ok() => product(lengths),
        _ => Misuse::new(format!("a tensor of shape {lengths:?} has too many elements"), Site::here())
            .hint("tensors have fewer than 2^32 elements: split the work into parts")
            .panic(),
    }
}

/// One axis of a tensor, as an argument: its number, or a negative number that counts from the last axis, −1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis(isize);

/// Axes of a tensor, as an argument: `..` for all, one number, or several; negative numbers count from the last axis.
///
/// An empty list names no axis: a reduction then changes nothing. See [`keep_dims`] to keep reduced axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axes {
    /// All axes if there is no list.
    list: Option<Vec<isize>>,
    pub(super) keeps: bool,
}

/// Axes that a reduction retains, with length 1, so that its result broadcasts against the tensor.
///
/// ```
/// use jit::prelude::*;
/// use jit::tensor::keep_dims;
///
/// let x = Tensor::from([[1.0f32, 3.0], [2.0, 6.0]]);
/// let centred = &x - x.mean(keep_dims(1));
/// assert_eq!(centred.to_vec()?, [-1.0, 1.0, -2.0, 2.0]);
/// # Ok::<(), jit::Error>(())
/// ```
#[must_use]
pub fn keep_dims(axes: impl Into<Axes>) -> Axes {
    Axes { keeps: true, ..axes.into() }
}

impl From<RangeFull> for Axes {
    fn from(_: RangeFull) -> Self {
        Axes { list: None, keeps: false }
    }
}

macro_rules! axes_from {
    ($($ty:ty),*) => {$(
        impl From<$ty> for Axis {
            fn from(axis: $ty) -> Self {
                Axis(axis as isize)
            }
        }

        impl From<$ty> for Axes {
            fn from(axis: $ty) -> Self {
                Axes { list: Some(vec![axis as isize]), keeps: false }
            }
        }

        impl<const N: usize> From<[$ty; N]> for Axes {
            fn from(axes: [$ty; N]) -> Self {
                axes.as_slice().into()
            }
        }

        impl From<&[$ty]> for Axes {
            fn from(axes: &[$ty]) -> Self {
                Axes { list: Some(axes.iter().map(|&axis| axis as isize).collect()), keeps: false }
            }
        }

        impl From<Vec<$ty>> for Axes {
            fn from(axes: Vec<$ty>) -> Self {
                axes.as_slice().into()
            }
        }
    )*};
}

axes_from!(usize, isize, i32);

impl From<Axis> for Axes {
    fn from(axis: Axis) -> Self {
        axis.0.into()
    }
}

impl Axis {
    /// Returns the number of the axis among `ndim` axes.
    #[track_caller]
    pub(super) fn resolve(self, shape: &[Size]) -> usize {
        // No closure, so that the reported line is that of our caller.
        match resolve(self.0, shape.len()) {
            Some(axis) => axis,
            None => no_such_axis(self.0, shape),
        }
    }

    /// Returns the place of a new axis in a shape that will have one axis more.
    #[track_caller]
    pub(super) fn resolve_new(self, shape: &[Size]) -> usize {
        match resolve(self.0, shape.len() + 1) {
            Some(axis) => axis,
            None => no_such_axis(self.0, shape),
        }
    }
}

impl Axes {
    /// Returns the numbers of the axes, in the order of the argument. No axis may be named twice.
    #[track_caller]
    pub(super) fn resolve(&self, shape: &[Size]) -> Vec<usize> {
        let Some(list) = &self.list else { return (0..shape.len()).collect() };
        let mut axes = Vec::with_capacity(list.len());
        for &axis in list {
            let number = Axis(axis).resolve(shape);
            if axes.contains(&number) {
                let what = format!("axis {axis} is named twice for a tensor of shape {shape:?}");
                Misuse::new(what, Site::here())
                    .hint("name each axis once; a negative number counts from the last axis")
                    .panic();
            }
            axes.push(number);
        }
        axes
    }
}

fn resolve(axis: isize, count: usize) -> Option<usize> {
    let number = if axis < 0 { axis + count as isize } else { axis };
    usize::try_from(number).ok().filter(|number| *number < count)
}

#[cold]
#[track_caller]
fn no_such_axis(axis: isize, shape: &[Size]) -> ! {
    let what = format!("there is no axis {axis} in a tensor of shape {shape:?}");
    Misuse::new(what, Site::here())
        .hint("axes are numbered from 0; negative numbers count from the last axis, −1")
        .panic()
}
