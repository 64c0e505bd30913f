//! Reordering of elements: each operation is a gather at indices computed from the lane number.
//!
//! Nothing is evaluated: a reordered expression is fused into the kernel that uses the result, and reordered memory is
//! read in place (see [`Array::gather`] for large expressions).

use std::borrow::Borrow;
use std::ops::{Bound, RangeBounds};

use super::{Array, Element, Integer, UInt};
use crate::misuse::Misuse;
use crate::size::Size;
use crate::trace::record;
use crate::trace::unaffected::unaffected;
use jit_runtime::Site;
use jit_runtime::ir::Type;

/// Returns a number of elements, below 2³², as a value of width 1.
#[track_caller]
fn size(size: Size) -> UInt {
    Array::from_var(record::size(size))
}

/// Returns a width as a 32-bit literal. Existing arrays have widths below 2³².
fn count(width: usize) -> u32 {
    width as u32
}

impl<T: Element> Array<T> {
    /// Returns the elements from last to first.
    #[must_use]
    #[track_caller]
    #[doc(alias = "flip")]
    pub fn reverse(&self) -> Self {
        match self.width() {
            width if width < 2 => self.unchanged(),
            width => self.gather(&(size(width - 1) - UInt::arange(width))),
        }
    }

    /// Repeats the whole array `times` times: `[1, 2]` becomes `[1, 2, 1, 2]`.
    #[must_use]
    #[track_caller]
    pub fn tile(&self, times: impl Into<Size>) -> Self {
        match (self.width(), times.into()) {
            (_, times) if times == 1 => self.unchanged(),
            (width, _) if width == 0 => self.unchanged(),
            (width, times) if width == 1 => Array::from_var(record::broadcast(&self.var, times)),
            (width, times) => self.gather(&(UInt::arange(times * width) % size(width))),
        }
    }

    /// Repeats each element `times` times: `[1, 2]` becomes `[1, 1, 2, 2]`.
    #[must_use]
    #[track_caller]
    pub fn repeat(&self, times: impl Into<Size>) -> Self {
        match (self.width(), times.into()) {
            (_, times) if times == 1 => self.unchanged(),
            (width, times) if width == 0 || times == 0 => self.no_elements(),
            (width, times) if width == 1 => Array::from_var(record::broadcast(&self.var, times)),
            (width, times) => self.gather(&(UInt::arange(times * width) / size(times))),
        }
    }

    /// Returns the elements at a range of positions: `x.slice(2..5)`, `x.slice(..n)`.
    ///
    /// # Panics
    ///
    /// When the start of the range is after its end, or its end is beyond the array.
    #[must_use]
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Self {
        let (start, end) = self.positions(range);
        self.part(start, end)
    }

    /// Returns the array where nothing moves.
    #[track_caller]
    pub(super) fn unchanged(&self) -> Self {
        Array::from_var(record::folded_to(self.var.clone()))
    }

    /// Returns none of the elements.
    #[track_caller]
    fn no_elements(&self) -> Self {
        self.part(Size::from(0), Size::from(0))
    }

    /// Returns the elements between two positions.
    #[track_caller]
    fn part(&self, start: Size, end: Size) -> Self {
        if start.is_always(Size::from(0)) && end.is_always(self.width()) {
            return self.unchanged();
        }
        self.gather(&(UInt::arange(end - start) + size(start)))
    }

    /// Returns every `step`-th element of a range. A negative step goes backwards from the last element of the range,
    /// as NumPy's `x[range][::step]`.
    ///
    /// # Panics
    ///
    /// As [`Array::slice`], and for the step 0.
    #[must_use]
    #[track_caller]
    pub fn slice_step(&self, range: impl RangeBounds<usize>, step: isize) -> Self {
        let (start, end) = self.positions(range);
        if step == 0 {
            Misuse::new("the step of a slice cannot be 0", Site::here()).value("the array", self.var()).panic();
        }
        let stride = step.unsigned_abs();
        let width = (end - start).div_ceil(stride);
        // A stride beyond the range reads only one element, so its value does not matter.
        let index = UInt::arange(width) * count(stride);
        match step {
            _ if width == 0 => self.no_elements(),
            1.. => self.gather(&(index + size(start))),
            _ => self.gather(&(size(end - 1) - index)),
        }
    }

    /// Returns the first and last position (excluded) of a range.
    #[track_caller]
    fn positions(&self, range: impl RangeBounds<usize>) -> (Size, Size) {
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&last) => last.saturating_add(1).into(),
            Bound::Excluded(&end) => end.into(),
            Bound::Unbounded => self.width(),
        };
        self.check_range(start.into(), end);
        (start.into(), end)
    }

    #[track_caller]
    fn check_range(&self, start: Size, end: Size) {
        if start > end || end > self.width() {
            let what = format!("the range {start}..{end} is out of range for an array of width {}", self.width());
            Misuse::new(what, Site::here())
                .value("the array", self.var())
                .hint("a range starts at or before its end, and ends within the array")
                .panic();
        }
    }

    /// Splits the array at a position.
    ///
    /// # Panics
    ///
    /// When the position is beyond the end.
    #[must_use]
    #[track_caller]
    pub fn split_at(&self, position: impl Into<Size>) -> (Self, Self) {
        let position = position.into();
        self.check_range(Size::from(0), position);
        (self.part(Size::from(0), position), self.part(position, self.width()))
    }

    /// Splits the array into parts of equal width, in order.
    ///
    /// # Panics
    ///
    /// When the width is no multiple of the number of parts.
    #[must_use]
    #[track_caller]
    pub fn split(&self, parts: usize) -> Vec<Self> {
        if parts == 0 || self.width() % parts != 0 {
            let what = format!("an array of width {} cannot be split into {parts} equal parts", self.width());
            Misuse::new(what, Site::here())
                .value("the array", self.var())
                .hint("`slice` and `split_at` return parts of any width")
                .panic();
        }
        let width = self.width() / parts;
        (0..parts).map(|part| self.part(width * part, width * (part + 1))).collect()
    }

    /// Shifts the elements to higher positions by a distance (to lower ones if it is negative). Elements shifted out at
    /// one end are lost, and zeros are shifted in at the other end. The width stays the same.
    #[must_use]
    #[track_caller]
    #[doc(alias = "roll")]
    pub fn shift(&self, distance: isize) -> Self {
        self.shift_with(distance, T::default())
    }

    /// Like [`Array::shift`], but shifts in another value.
    #[must_use]
    #[track_caller]
    pub fn shift_with(&self, distance: isize, fill: T) -> Self {
        let (width, far) = (self.width(), distance.unsigned_abs());
        if far == 0 {
            return self.unchanged();
        }
        if width <= far {
            return Array::from_var(unaffected(Array::full(fill, width).into_var(), [self.var()]));
        }
        let (lanes, last) = (UInt::arange(width), width - far);
        let far = count(far);
        let (index, is_inside) = match distance > 0 {
            true => (&lanes - far, lanes.ge(far)),
            false => (&lanes + far, lanes.lt(size(last))),
        };
        let moved = self.gather_masked(&index, &is_inside);
        if fill.to_bits() == 0 { moved } else { is_inside.select(moved, fill) }
    }

    /// Rotates the elements to higher positions by a distance (to lower ones if it is negative). Elements shifted out
    /// at one end come back in at the other end.
    #[must_use]
    #[track_caller]
    pub fn roll(&self, distance: isize) -> Self {
        let width = self.width();
        if width < 2 {
            return self.unchanged();
        }
        let start = Size::from(distance.unsigned_abs()) % width;
        if start == 0 {
            return self.unchanged();
        }
        let (before, after) = if distance > 0 { (width - start, start) } else { (start, width - start) };
        let (before, after) = (size(before), size(after));
        let lanes = UInt::arange(width);
        // Without a sum that could exceed 32 bits.
        let index = lanes.lt(&after).select(&lanes + before, &lanes - &after);
        self.gather(&index)
    }

    /// Like [`Array::gather`], but negative positions count from the end: -1 is the last element.
    #[must_use]
    #[track_caller]
    pub fn take<I: Integer>(&self, index: &Array<I>) -> Self {
        if I::TYPE.is_unsigned_integer() {
            return self.gather(index);
        }
        let index = index.cast::<i64>();
        self.gather(
            &index.lt(0).select(&index + Array::<i64>::from_var(record::size_as(Type::I64, self.width())), &index),
        )
    }
}

/// Returns all pairs of elements of two arrays, the first one's varying fastest: the coordinates of a grid, row by row.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
/// use jit::meshgrid;
///
/// let (x, y) = meshgrid(&Int::from([1, 2, 3]), &Int::from([10, 20]));
/// assert_eq!(x.to_vec()?, [1, 2, 3, 1, 2, 3]);
/// assert_eq!(y.to_vec()?, [10, 10, 10, 20, 20, 20]);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn meshgrid<A: Element, B: Element>(x: &Array<A>, y: &Array<B>) -> (Array<A>, Array<B>) {
    (x.tile(y.width()), y.repeat(x.width()))
}

/// Returns all triples of elements of three arrays, the first one's varying fastest, then the second one's.
#[must_use]
#[track_caller]
pub fn meshgrid3<A: Element, B: Element, C: Element>(
    x: &Array<A>,
    y: &Array<B>,
    z: &Array<C>,
) -> (Array<A>, Array<B>, Array<C>) {
    (x.tile(y.width() * z.width()), y.repeat(x.width()).tile(z.width()), z.repeat(x.width() * y.width()))
}

/// Returns all combinations of elements of some arrays, the first one's varying fastest.
#[must_use]
#[track_caller]
pub fn meshgrid_all<T: Element, P: Borrow<Array<T>>>(axes: &[P]) -> Vec<Array<T>> {
    let mut grid = Vec::with_capacity(axes.len());
    for (position, axis) in axes.iter().enumerate() {
        let product = |axes: &[P]| axes.iter().fold(Size::from(1), |product, axis| product * axis.borrow().width());
        let (inner, outer) = (product(&axes[..position]), product(&axes[position + 1..]));
        grid.push(axis.borrow().repeat(inner).tile(outer));
    }
    grid
}
