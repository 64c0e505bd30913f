//! Indices along an axis: numbers, ranges, new axes, index arrays. The macro [`s!`](crate::s) makes lists of them.

use std::fmt;
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use jit_core::misuse::Misuse;

use super::Tensor;
use super::lengths::is;
use crate::Site;
use crate::{Array, Integer, Size};

/// A list of indices for [`Tensor::slice`], [`Tensor::set`] and similar methods, separated by commas, one for each
/// axis:
///
/// | index | selects |
/// |---|---|
/// | `2`, `-1`, `n / 2` | one element, and drops the axis; negative numbers count from the end, and `n` may be a [`Size`] |
/// | `..`, `1..4`, `2..=-1`, `..-1`, `1..n - 1` | a range; its ends may be negative and are clipped |
/// | `0..;2`, `..;-1` | every other element, all of them backwards |
/// | `None` | a new axis of length 1 |
/// | `Ellipsis` | all axes not covered by the other indices |
/// | `&index`, `[0, 2]` | elements at the positions that an array or tensor of integers holds |
///
/// Trailing axes without an index are taken whole.
///
/// ```
/// use jit::prelude::*;
/// use jit::tensor::Ellipsis;
///
/// let x = Tensor::<i32>::arange([2, 3, 4]);
/// assert_eq!(x.slice(s![1, .., -1]).to_vec()?, [15, 19, 23]);
/// assert_eq!(x.slice(s![0, 0, ..;2]).to_vec()?, [0, 2]);
/// assert_eq!(x.slice(s![Ellipsis, None, 1..3]).shape(), [2, 3, 1, 2]);
/// assert_eq!(x.slice(s![0, [2, 0], 0]).to_vec()?, [8, 0]);
/// assert_eq!(x.slice(s![0, 0, ..x.size(2) / 2]).to_vec()?, [0, 1]);
/// # Ok::<(), jit::Error>(())
/// ```
#[macro_export]
macro_rules! s {
    ($($indices:tt)*) => {
        {
            // A backward range begins at its larger end.
            #[allow(clippy::reversed_empty_ranges)]
            let indices: [$crate::tensor::Index; _] = $crate::__slice_indices!([] $($indices)*);
            indices
        }
    };
}

/// The indices of a list one by one. A range from a literal to another expression is split into its ends: Rust requires
/// both ends of a range to have one type, but the other end may be a [`Size`].
#[doc(hidden)]
#[macro_export]
macro_rules! __slice_indices {
    ([$($done:tt)*]) => { [$($done)*] };
    ([$($done:tt)*] $start:literal..=$end:expr $(; $step:expr)? $(, $($rest:tt)*)?) => {
        $crate::__slice_indices!(
            [$($done)* $crate::tensor::Index::between($start, $end, true)$(.stepped($step))?,] $($($rest)*)?
        )
    };
    ([$($done:tt)*] $start:literal..$end:expr $(; $step:expr)? $(, $($rest:tt)*)?) => {
        $crate::__slice_indices!(
            [$($done)* $crate::tensor::Index::between($start, $end, false)$(.stepped($step))?,] $($($rest)*)?
        )
    };
    ([$($done:tt)*] $index:expr $(; $step:expr)? $(, $($rest:tt)*)?) => {
        $crate::__slice_indices!(
            [$($done)* $crate::tensor::IntoIndex::into_index($index)$(.stepped($step))?,] $($($rest)*)?
        )
    };
}

/// All axes not covered by the other indices of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ellipsis;

/// A selection along an axis: see [`s!`](crate::s).
#[derive(Clone, Debug)]
pub struct Index(pub(super) Kind);

#[derive(Clone, Debug)]
pub(super) enum Kind {
    At(Position),
    Range(Steps),
    NewAxis,
    Ellipsis,
    Positions(Box<Positions>),
}

/// A position along an axis, as written.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub enum Position {
    /// Counted from the start or, if negative, from the end.
    Number(isize),
    /// Counted from the start; it may differ in a replay with another size.
    Size(Size),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Number(position) => position.fmt(f),
            Position::Size(position) => position.fmt(f),
        }
    }
}

impl From<Size> for Position {
    fn from(position: Size) -> Self {
        Position::Size(position)
    }
}

/// A range with a step, as written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    pub(super) start: Option<Position>,
    pub(super) end: Option<Position>,
    /// Whether the end belongs to the range.
    pub(super) is_inclusive: bool,
    pub(super) step: isize,
}

/// Positions in an array.
#[derive(Clone, Debug)]
pub(super) struct Positions {
    /// The low bits of the positions.
    pub(super) bits: Tensor<u32>,
    /// Where they are counted from the end.
    pub(super) is_negative: Option<Tensor<bool>>,
    /// The smallest and the largest position, if the host knows them.
    pub(super) bounds: Option<(isize, isize)>,
}

impl Steps {
    pub(super) const ALL: Steps = Steps { start: None, end: None, is_inclusive: false, step: 1 };

    /// Returns the first position, and the number of positions, in an axis; the ends are clipped as in Python.
    #[track_caller]
    pub(super) fn resolve(&self, length: Size) -> (Size, Size) {
        // Positions of backward ranges are counted from 1 on, so that none is negative.
        let is_backward = self.step < 0;
        let first = if is_backward { length } else { Size::from(0) };
        let last = if is_backward { Size::from(0) } else { length };
        let begin = self.start.map_or(first, |start| clipped(start, usize::from(is_backward), length));
        let end = self.end.map_or(last, |end| clipped(end, usize::from(self.is_inclusive != is_backward), length));
        let (low, high) = if is_backward { (end, begin) } else { (begin, end) };
        let count = (high.max(low) - low).div_ceil(self.step.unsigned_abs()).settled();
        let start = if is_backward { begin.max(1) - 1 } else { begin };
        (if is(count, 0) { Size::from(0) } else { start }, count)
    }
}

/// Returns a position plus an offset, counted from the end if it is negative, clipped to 0 up to a length.
#[track_caller]
fn clipped(position: Position, more: usize, length: Size) -> Size {
    let position = match position {
        Position::Number(position) => position,
        Position::Size(position) => return length.min(position + more),
    };
    let distance = position.unsigned_abs();
    match position < 0 {
        false => length.min(distance.saturating_add(more)),
        true => (length + more).max(distance) - distance,
    }
}

impl Index {
    /// Creates a range from two separate ends.
    #[doc(hidden)]
    #[must_use]
    pub fn between(start: impl Into<Position>, end: impl Into<Position>, is_inclusive: bool) -> Self {
        range(Some(start.into()), Some(end.into()), is_inclusive)
    }

    /// Creates a range that takes every `step`th element, backwards for a negative step.
    ///
    /// # Panics
    ///
    /// When the step is 0, or the index is not a range.
    #[must_use]
    #[track_caller]
    pub fn stepped(self, step: isize) -> Self {
        match self.0 {
            Kind::Range(steps) if step != 0 => Index(Kind::Range(Steps { step, ..steps })),
            _ => Misuse::new(format!("an index cannot take the step {step}"), Site::here())
                .hint("steps are for ranges, and not 0: `1..;2`, `..;-1`")
                .panic(),
        }
    }
}

/// The types that [`s!`](crate::s) accepts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an index of a tensor",
    label = "expected a number, a range, `None`, `Ellipsis`, or an array or tensor of integers",
    note = "how many elements a mask selects is not known while recording: assign with `set_where`, select with \
        `mask.select(a, b)`, or take the positions of the true elements with `compress`"
)]
pub trait IntoIndex {
    /// Returns the index.
    fn into_index(self) -> Index;
}

fn range(start: Option<Position>, end: Option<Position>, is_inclusive: bool) -> Index {
    Index(Kind::Range(Steps { start, end, is_inclusive, step: 1 }))
}

/// Single positions, and ranges of them.
macro_rules! positions {
    ($($ty:ty),*) => {$(
        impl IntoIndex for $ty {
            fn into_index(self) -> Index {
                Index(Kind::At(self.into()))
            }
        }

        impl IntoIndex for Range<$ty> {
            fn into_index(self) -> Index {
                range(Some(self.start.into()), Some(self.end.into()), false)
            }
        }

        impl IntoIndex for RangeInclusive<$ty> {
            fn into_index(self) -> Index {
                let (start, end) = self.into_inner();
                range(Some(start.into()), Some(end.into()), true)
            }
        }

        impl IntoIndex for RangeFrom<$ty> {
            fn into_index(self) -> Index {
                range(Some(self.start.into()), None, false)
            }
        }

        impl IntoIndex for RangeTo<$ty> {
            fn into_index(self) -> Index {
                range(None, Some(self.end.into()), false)
            }
        }

        impl IntoIndex for RangeToInclusive<$ty> {
            fn into_index(self) -> Index {
                range(None, Some(self.end.into()), true)
            }
        }
    )*};
}

positions!(i32, isize, usize, Size);

macro_rules! host_indices {
    ($($ty:ty),*) => {$(
        impl From<$ty> for Position {
            fn from(position: $ty) -> Self {
                Position::Number(position as isize)
            }
        }

        impl<const N: usize> IntoIndex for [$ty; N] {
            #[track_caller]
            fn into_index(self) -> Index {
                known_positions(self.iter().map(|&position| position as isize))
            }
        }

        impl IntoIndex for &[$ty] {
            #[track_caller]
            fn into_index(self) -> Index {
                known_positions(self.iter().map(|&position| position as isize))
            }
        }

        impl IntoIndex for Vec<$ty> {
            #[track_caller]
            fn into_index(self) -> Index {
                known_positions(self.iter().map(|&position| position as isize))
            }
        }
    )*};
}

host_indices!(i32, isize, usize);

#[track_caller]
fn known_positions(positions: impl Iterator<Item = isize>) -> Index {
    let positions: Vec<isize> = positions.collect();
    let bounds = positions.iter().min().copied().zip(positions.iter().max().copied());
    let bits: Vec<u32> = positions.iter().map(|&position| position as u32).collect();
    let is_negative = bounds.is_some_and(|(least, _)| least < 0);
    let is_negative =
        is_negative.then(|| positions.iter().map(|&position| position < 0).collect::<Array<bool>>().into());
    Index(Kind::Positions(Box::new(Positions { bits: Array::from(bits).into(), is_negative, bounds })))
}

impl IntoIndex for RangeFull {
    fn into_index(self) -> Index {
        Index(Kind::Range(Steps::ALL))
    }
}

impl IntoIndex for Ellipsis {
    fn into_index(self) -> Index {
        Index(Kind::Ellipsis)
    }
}

impl IntoIndex for Option<std::convert::Infallible> {
    /// `None`: a new axis.
    fn into_index(self) -> Index {
        Index(Kind::NewAxis)
    }
}

impl IntoIndex for Index {
    fn into_index(self) -> Index {
        self
    }
}

impl<I: Integer> IntoIndex for &Tensor<I> {
    fn into_index(self) -> Index {
        let is_negative = I::TYPE.is_signed_integer().then(|| self.lt(I::default()));
        Index(Kind::Positions(Box::new(Positions { bits: self.cast(), is_negative, bounds: None })))
    }
}

impl<I: Integer> IntoIndex for Tensor<I> {
    fn into_index(self) -> Index {
        (&self).into_index()
    }
}

impl<I: Integer> IntoIndex for &Array<I> {
    /// Returns the positions along one axis, also for an array of width 1.
    fn into_index(self) -> Index {
        Tensor::from(self).into_index()
    }
}

impl<I: Integer> IntoIndex for Array<I> {
    fn into_index(self) -> Index {
        (&self).into_index()
    }
}
