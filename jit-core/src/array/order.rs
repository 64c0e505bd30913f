//! The order of elements: sorting, medians, and distinct elements.
//!
//! Sorting and medians stay lazy; their input is materialised in memory. The number of distinct elements is known only
//! after counting them, so [`Array::unique`] evaluates.

use jit_runtime::Site;
use jit_runtime::ir::{CompareOp, Type};
use jit_runtime::launch::native::{Call, Sort, Sorted};

use super::{Array, Element, Mask, Number, UInt};
use crate::graph::node::flag;
use crate::misuse::Misuse;
use crate::size::Size;
use crate::trace::{gather, native, record};

/// The order in which [`Array::sort_with`] sorts: ascending or descending, and the length of blocks.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
///
/// let x = Int::from([3, 1, 2, 9, 7, 8]);
/// assert_eq!(x.sort_with(Sorting::descending().per_block(3)).to_vec()?, [3, 2, 1, 9, 8, 7]);
/// assert_eq!(x.argsort_with(Sorting::ascending().per_block(3)).to_vec()?, [1, 2, 0, 1, 2, 0]);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sorting {
    is_descending: bool,
    block: Option<Size>,
}

impl Sorting {
    /// Puts the smallest elements first.
    #[must_use]
    pub const fn ascending() -> Sorting {
        Sorting { is_descending: false, block: None }
    }

    /// Puts the largest elements first; equal ones keep their order.
    #[must_use]
    pub const fn descending() -> Sorting {
        Sorting { is_descending: true, block: None }
    }

    /// Sorts each block of so many elements separately; the last one may be shorter.
    #[must_use]
    pub fn per_block(self, elements: impl Into<Size>) -> Sorting {
        Sorting { block: Some(elements.into()), ..self }
    }
}

/// The distinct elements of an array; see [`Array::unique_all`].
#[derive(Clone, Debug)]
pub struct Unique<T: Element> {
    /// Each of them once, in ascending order.
    pub values: Array<T>,
    /// The position of the first occurrence of each.
    pub first: UInt,
    /// The number of occurrences of each.
    pub counts: UInt,
    /// For each element of the array its position in [`Unique::values`]: `values.gather(&inverse)` is the array.
    pub inverse: UInt,
}

impl<T: Element> Array<T> {
    /// Returns the elements in ascending order.
    ///
    /// Integers are ordered by value, `false` before `true`. Floats are ordered by value, -0 before +0. NaN come last,
    /// and all NaN are equal. Equal elements keep their order, so the result is unique and does not depend on the
    /// number of threads. Stays lazy.
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    ///
    /// let x = Float::from([2.0, f32::NAN, -1.0, f32::INFINITY]);
    /// let sorted = x.sort().to_vec()?;
    /// assert_eq!(sorted[..3], [-1.0, 2.0, f32::INFINITY]);
    /// assert!(sorted[3].is_nan());
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// On the state of a traced loop.
    #[must_use]
    #[track_caller]
    pub fn sort(&self) -> Self {
        self.sort_with(Sorting::ascending())
    }

    /// Returns the elements in descending order: the reverse of [`Array::sort`].
    #[must_use]
    #[track_caller]
    pub fn sort_descending(&self) -> Self {
        self.sort_with(Sorting::descending())
    }

    /// Returns the elements in a given order; see [`Array::sort`].
    ///
    /// # Panics
    ///
    /// When blocks have no elements, or on the state of a traced loop.
    #[must_use]
    #[track_caller]
    pub fn sort_with(&self, sorting: Sorting) -> Self {
        check(sorting, self);
        if self.width() <= 1 || self.var().known_bits().is_some() {
            return self.unchanged();
        }
        if self.var().flags() & flag::GRAD != 0 {
            return self.gather(&self.detach().order(sorting));
        }
        let call = Call::Sort(machine_sort(sorting, Sorted::Values));
        Array::from_var(native::call(call, native::sizes(sorting.block), &[self.var()], T::TYPE, self.width()))
    }

    /// Returns the positions of the sorted elements in the whole array.
    #[track_caller]
    fn order(&self, sorting: Sorting) -> UInt {
        let positions = self.argsort_with(sorting);
        match sorting.block {
            Some(block) => {
                let block = UInt::from(block);
                positions + UInt::arange(self.width()) / &block * block
            }
            None => positions,
        }
    }

    /// Returns the positions of the elements in ascending order: `x.gather(&x.argsort())` is `x.sort()`. Equal elements
    /// keep their order. To sort by several keys, sort by the least important one first. Stays lazy.
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    ///
    /// let keys = UInt::from([2, 1, 2, 0]);
    /// assert_eq!(keys.argsort().to_vec()?, [3, 1, 0, 2]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// On the state of a traced loop.
    #[must_use]
    #[track_caller]
    pub fn argsort(&self) -> UInt {
        self.argsort_with(Sorting::ascending())
    }

    /// Returns the positions of the elements in descending order; equal ones keep their order. See [`Array::argsort`].
    #[must_use]
    #[track_caller]
    pub fn argsort_descending(&self) -> UInt {
        self.argsort_with(Sorting::descending())
    }

    /// Returns the positions of the elements in a given order; those in blocks count from the start of each block. See
    /// [`Array::argsort`].
    ///
    /// # Panics
    ///
    /// When blocks have no elements, or on the state of a traced loop.
    #[must_use]
    #[track_caller]
    pub fn argsort_with(&self, sorting: Sorting) -> UInt {
        check(sorting, self);
        if self.width() <= 1 || self.var().known_bits().is_some() {
            let lanes = UInt::arange(self.width());
            return match sorting.block {
                Some(block) if self.width() > block => lanes % UInt::from(block),
                _ => lanes,
            };
        }
        let call = Call::Sort(machine_sort(sorting, Sorted::Positions));
        Array::from_var(native::call(call, native::sizes(sorting.block), &[self.var()], Type::U32, self.width()))
    }

    /// Returns the elements in the ascending order of keys, one key per element. Elements with equal keys keep their
    /// order. Stays lazy. An array of width 1 is repeated.
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    ///
    /// let x = Int::from([1, 2, 3]);
    /// assert_eq!(x.sort_by_key(&Float::from([0.5, -1.0, 0.0])).to_vec()?, [2, 3, 1]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the numbers of keys and elements differ, or on the state of a traced loop.
    #[must_use]
    #[track_caller]
    pub fn sort_by_key<K: Element>(&self, keys: &Array<K>) -> Self {
        if self.width() != keys.width() && self.width() != 1 {
            record::width_mismatch(self.var(), keys.var());
        }
        Array::from_var(gather::gather_repeated(self.var(), keys.width(), keys.argsort().var(), None))
    }

    /// Returns the distinct elements, each once, in ascending order. Of floats, -0 and +0 are equal (the result holds
    /// -0 if the array does), and so are all NaN. The array is evaluated and the distinct elements are counted, as by
    /// [`Mask::compress`]; the elements stay lazy.
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    ///
    /// assert_eq!(Int::from([3, 1, 3, 3, 2, 1]).unique().to_vec()?, [1, 2, 3]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the evaluation fails, or on the state of a traced loop.
    #[must_use]
    #[track_caller]
    pub fn unique(&self) -> Self {
        if self.width() <= 1 {
            return self.unchanged();
        }
        let sorted = self.sort();
        sorted.gather(&sorted.begins_run().compress())
    }

    /// Returns the distinct elements like [`Array::unique`], with their positions and numbers of occurrences. Only the
    /// parts that are used are computed.
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    ///
    /// let unique = Int::from([30, 10, 30, 20]).unique_all();
    /// assert_eq!(unique.values.to_vec()?, [10, 20, 30]);
    /// assert_eq!(unique.first.to_vec()?, [1, 3, 0]);
    /// assert_eq!(unique.counts.to_vec()?, [1, 1, 2]);
    /// assert_eq!(unique.inverse.to_vec()?, [2, 0, 2, 1]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Array::unique`].
    #[must_use]
    #[track_caller]
    pub fn unique_all(&self) -> Unique<T> {
        let (sorted, positions) = self.sort_with_positions();
        let begins = sorted.begins_run();
        let starts = begins.compress();
        let is_last = UInt::arange(starts.width()).eq(UInt::from(starts.width().max(1) - 1));
        let ends = is_last.select(UInt::from(self.width()), starts.shift(-1));
        let mut inverse = UInt::zeros(self.width());
        inverse.scatter(begins.cast::<u32>().prefix_sum() - 1, &positions);
        Unique { values: sorted.gather(&starts), first: positions.gather(&starts), counts: ends - &starts, inverse }
    }

    /// Returns the elements in ascending order and their positions, by one sort.
    #[track_caller]
    fn sort_with_positions(&self) -> (Self, UInt) {
        if self.width() <= 1 || self.var().known_bits().is_some() {
            return (self.unchanged(), UInt::arange(self.width()));
        }
        let call = Call::Sort(machine_sort(Sorting::ascending(), Sorted::Both));
        let results = [(T::TYPE, self.width()), (Type::U32, self.width())];
        let mut results = native::call_for_all(call, native::sizes(None), &[self.var()], &results).into_iter();
        let mut next = || results.next().expect("the sort has two results");
        (Array::from_var(next()), Array::from_var(next()))
    }

    /// Returns the lanes where an element of a sorted array differs from the one before.
    #[track_caller]
    fn begins_run(&self) -> Mask {
        let before = self.shift(1);
        let mut differs = self.compare(CompareOp::Ne, &before);
        if T::TYPE.is_float() {
            // NaN is not equal to itself.
            differs &= self.compare(CompareOp::Eq, self) | before.compare(CompareOp::Eq, &before);
        }
        differs | UInt::arange(self.width()).eq(0)
    }
}

impl<T: Number> Array<T> {
    /// Returns the median, of width 1: the middle element of the order, or the lower of the two middle ones. NaN if any
    /// element is NaN. Stays lazy.
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    ///
    /// assert_eq!(Int::from([5, 1, 9]).median().item()?, 5);
    /// assert_eq!(Int::from([4, 1, 3, 2]).median().item()?, 2);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When there are no elements, or on the state of a traced loop.
    #[must_use]
    #[track_caller]
    pub fn median(&self) -> Self {
        if self.width() == 0 {
            Misuse::new("an array without elements has no median", Site::here())
                .value("the array", self.var())
                .hint("check `len()` first")
                .panic();
        }
        let last = self.width() - 1;
        let at = |position: Size| Array::<u32>::from_var(record::size(position));
        let sorted = self.sort();
        let middle = sorted.gather(&at(last / 2));
        if !T::TYPE.is_float() {
            return middle;
        }
        // NaN are at the end.
        let largest = sorted.gather(&at(last));
        largest.compare(CompareOp::Ne, &largest).select(&largest, &middle)
    }
}

#[track_caller]
fn check<T: Element>(sorting: Sorting, array: &Array<T>) {
    native::refuse_inside_of_loops(array.var(), "sort");
    if sorting.block.is_some_and(|block| block == 0) {
        Misuse::new("blocks of a sort have at least one element", Site::here()).value("the array", array.var()).panic();
    }
}

fn machine_sort(sorting: Sorting, gives: Sorted) -> Sort {
    Sort { is_descending: sorting.is_descending, row: sorting.block.map_or(usize::MAX, Size::value), gives }
}
