//! Values that depend on other lanes: gathers and reductions.

use jit_runtime::ir::ReduceOp;

use super::{Array, Element, FloatElement, Integer, Logic, Mask, Number, Size};
use crate::trace::{gather, record, reduce};

impl<T: Element> Array<T> {
    /// The elements at some positions: the result is as wide as the index.
    ///
    /// A source that is not evaluated yet is computed at the index if it is a small expression of the lane's number,
    /// constants and memory; else it is evaluated first, when the result is. Inside of a traced branch, lanes that do
    /// not take it read nothing.
    ///
    /// Any integer type will do as an index. Positions outside of the source, negative ones among them, give zero: on
    /// every device, from a source of any width (no position is in one of width 0, and 0 alone in one of width 1), at a
    /// literal as at a computed one. With `JIT_DEBUG=on` they make the result an [`Error`](jit_runtime::Error) that
    /// names lane, index, width and line.
    ///
    /// # Panics
    ///
    /// On the state of a traced loop, if that is wider than 1.
    #[must_use]
    #[track_caller]
    pub fn gather<I: Integer>(&self, index: &Array<I>) -> Self {
        Array::recorded(gather::gather(&self.var, index.var(), None))
    }

    /// As [`Array::gather`] where the mask is true; zero, reading nothing, where it is false.
    #[must_use]
    #[track_caller]
    pub fn gather_masked<I: Integer>(&self, index: &Array<I>, mask: &Mask) -> Self {
        Array::recorded(gather::gather(&self.var, index.var(), Some(mask.var())))
    }

    /// As [`Array::gather`], or [`Array::gather_masked`], of an array that belongs to a value of so many elements, all
    /// of which share its own one if it has width 1.
    #[doc(hidden)]
    #[must_use]
    #[track_caller]
    pub fn gather_repeated<I: Integer>(&self, elements: Size, index: &Array<I>, mask: Option<&Mask>) -> Self {
        Array::from_var(gather::gather_repeated(&self.var, elements, index.var(), mask.map(Array::var)))
    }

    #[track_caller]
    pub(super) fn reduce_all(&self, op: ReduceOp) -> Self {
        Array::recorded(reduce::reduce(op, &self.var))
    }
}

impl<T: Number> Array<T> {
    /// The sum of all elements, of width 1; 0 for none. Integers wrap. Halves are summed in single precision.
    ///
    /// Floats are added in a fixed order: element `i` of each 16384 to the running sum `i % 64`, these to one another
    /// in pairs, and the sums of the 16384 again in pairs. So the result has the same bits for any number of threads
    /// and any vector width, and on every device; and each element takes part in at most 280 additions. Sums that a
    /// reducing scatter makes are not fixed in this way: see [`Array::scatter_reduce`].
    #[must_use]
    #[track_caller]
    pub fn sum(&self) -> Self {
        self.reduce_all(ReduceOp::Add)
    }

    /// The product of all elements, of width 1; 1 for none. Integers wrap. Halves are multiplied in single precision.
    #[must_use]
    #[track_caller]
    pub fn product(&self) -> Self {
        self.reduce_all(ReduceOp::Mul)
    }

    /// The smallest element, of width 1; NaN if one is NaN. Without elements: infinity, or the largest integer.
    #[must_use]
    #[track_caller]
    #[doc(alias = "amin")]
    pub fn reduce_min(&self) -> Self {
        self.reduce_all(ReduceOp::Min)
    }

    /// The largest element, of width 1; NaN if one is NaN. Without elements: minus infinity, or the smallest integer.
    #[must_use]
    #[track_caller]
    #[doc(alias = "amax")]
    pub fn reduce_max(&self) -> Self {
        self.reduce_all(ReduceOp::Max)
    }
}

impl<T: FloatElement> Array<T> {
    /// The mean of all elements, of width 1; NaN for none. Halves are summed in single precision.
    #[must_use]
    #[track_caller]
    pub fn mean(&self) -> Self {
        let sum = reduce::sum_wide(&self.var);
        let count = record::size_as(sum.ty(), self.width());
        let mean = record::binary(jit_runtime::ir::BinaryOp::Div, &sum, &count);
        Array::from_var(record::cast(T::TYPE, &mean))
    }
}

impl<T: Logic> Array<T> {
    /// All elements joined by bitwise (logical) and, of width 1; all ones (true) for none.
    #[must_use]
    #[track_caller]
    pub fn reduce_and(&self) -> Self {
        self.reduce_all(ReduceOp::And)
    }

    /// All elements joined by bitwise (logical) or, of width 1; zero (false) for none.
    #[must_use]
    #[track_caller]
    pub fn reduce_or(&self) -> Self {
        self.reduce_all(ReduceOp::Or)
    }
}
