//! Counting elements by value.

use jit_runtime::Site;
use jit_runtime::ir::{BinaryOp, Type};

use super::{Array, FloatElement, Integer, Mask, Number, UInt};
use crate::misuse::Misuse;
use crate::size::Size;
use crate::trace::record;

impl<T: Integer> Array<T> {
    /// Counts the elements that are 0, 1, 2, …, up to a number of bins, as NumPy's `bincount`. Elements that are
    /// negative or beyond the last bin are not counted. Evaluates nothing.
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    ///
    /// assert_eq!(Int::from([1, 3, 1, -1, 9]).bincount(4).to_vec()?, [0, 2, 0, 1]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn bincount(&self, bins: impl Into<Size>) -> UInt {
        self.bincount_weighted(&UInt::ones(1), bins)
    }

    /// Like [`Array::bincount`], but adds each element's weight instead of one. Weights are as wide as the array, or
    /// have width one. Sums of floats are those of [`Array::scatter_add`].
    #[must_use]
    #[track_caller]
    pub fn bincount_weighted<W: Number>(&self, weights: &Array<W>, bins: impl Into<Size>) -> Array<W> {
        let bins = bins.into();
        let mut sums = Array::<W>::zeros(bins);
        if bins == 0 || self.width() == 0 {
            return sums;
        }
        sums.scatter_add_masked(weights, self, &self.is_number_below(bins));
        sums
    }

    /// Returns where an element is at least zero and below a number.
    #[track_caller]
    pub(super) fn is_number_below(&self, end: Size) -> Mask {
        let mut is_inside = Mask::from(true);
        if T::TYPE.is_signed_integer() {
            is_inside &= self.ge(T::default());
        }
        // A type too small for the number has no elements beyond it.
        let sign = u32::from(T::TYPE.is_signed_integer());
        let largest = T::TYPE.bit_mask() >> sign;
        if largest >= u64::from(u32::MAX) || end <= largest as usize {
            is_inside &= self.lt(Array::from_var(record::size_as(T::TYPE, end)));
        }
        is_inside
    }
}

impl<T: FloatElement> Array<T> {
    /// Counts the elements in each of a number of equal bins of an interval, as NumPy's `histogram`. A bin includes its
    /// lower edge but not its upper one, except for the last bin, which includes both. The edges are those of
    /// [`Array::linspace`]`(low, high, bins + 1)`. Elements outside the interval and NaN are not counted. Evaluates
    /// nothing.
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    ///
    /// let x = Float::from([0.0, 0.1, 0.5, 0.99, 1.0, 7.0]);
    /// assert_eq!(x.histogram(0.0, 1.0, 2).to_vec()?, [2, 3]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When there are no bins, or the interval is not finite, or empty.
    #[must_use]
    #[track_caller]
    pub fn histogram(&self, low: T, high: T, bins: impl Into<Size>) -> UInt {
        self.histogram_weighted(low, high, &UInt::ones(1), bins)
    }

    /// Like [`Array::histogram`], but adds each element's weight instead of one. Weights are as wide as the array, or
    /// have width one. Sums of floats are those of [`Array::scatter_add`].
    ///
    /// # Panics
    ///
    /// As [`Array::histogram`].
    #[must_use]
    #[track_caller]
    pub fn histogram_weighted<W: Number>(
        &self,
        low: T,
        high: T,
        weights: &Array<W>,
        bins: impl Into<Size>,
    ) -> Array<W> {
        let bins = bins.into();
        let [first, last] = [low, high].map(|end| super::read::as_f64(T::TYPE, end.to_bits()));
        if bins == 0 || !(first < last && (last - first).is_finite()) {
            let what = format!("a histogram cannot have {bins} bins over the interval from {low} to {high}");
            Misuse::new(what, Site::here())
                .hint("use at least one bin, and a lower bound below the upper bound")
                .panic();
        }
        let mut sums = Array::<W>::zeros(bins);
        if self.width() == 0 {
            return sums;
        }
        let (part, is_inside) = match T::TYPE {
            // Halves distinguish fewer bins than there may be.
            Type::F16 | Type::BF16 => part_of(&self.cast::<f32>(), first, last, bins),
            _ => part_of(self, first, last, bins),
        };
        sums.scatter_add_masked(weights, &part, &is_inside);
        sums
    }
}

/// Returns the bin that each element falls into, and whether it falls into one.
#[track_caller]
fn part_of<F: FloatElement>(x: &Array<F>, first: f64, last: f64, bins: Size) -> (UInt, Mask) {
    let distance = record::literal(Type::F64, (last - first).to_bits(), 1);
    let step = record::binary(BinaryOp::Div, &distance, &record::size_as(Type::F64, bins));
    let [low, high] = [first, last].map(F::from_f64);
    let width = Array::<F>::from_var(record::cast(F::TYPE, &step));
    let most = UInt::from_var(record::size(bins - 1));
    let end = |part: &UInt| super::make::line(part.cast::<F>(), first, &step);
    // The quotient is off by one where it is rounded across an edge; the edges decide.
    let near = ((x - low) / width).cast::<u32>().min(&most);
    let is_before = x.lt(end(&near)) & near.gt(0);
    let near = is_before.select(&near - 1, &near);
    let next = &near + 1;
    let is_behind = x.ge(end(&next)) & near.lt(most);
    (is_behind.select(&next, &near), x.ge(low) & x.le(high))
}
