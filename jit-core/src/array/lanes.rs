//! Values that depend on other lanes: gathers and reductions.

use jit_runtime::ir::ReduceOp;

use super::{Array, Element, FloatElement, Integer, Logic, Mask, Number, Size, UInt};
use crate::graph::op::Op;
use crate::trace::{gather, record, reduce};

impl<T: Element> Array<T> {
    /// Returns the elements at some positions: the result is as wide as the index.
    ///
    /// A source that is not evaluated yet is recomputed at the index if it is a small expression of the lane number,
    /// constants and memory. Otherwise it is evaluated first, when the result is evaluated. Inside a traced branch,
    /// inactive lanes read nothing.
    ///
    /// The index may have any integer type. Positions outside the source, including negative ones, yield zero. This
    /// holds on every device, for sources of any width (width 0 has no valid position, width 1 only 0), and for literal
    /// and computed indices. With `JIT_DEBUG=on` such positions make the result an [`Error`](jit_runtime::Error) that
    /// names lane, index, width and line.
    ///
    /// # Panics
    ///
    /// On the state of a traced loop, if it is wider than 1.
    #[must_use]
    #[track_caller]
    pub fn gather<I: Integer>(&self, index: &Array<I>) -> Self {
        Array::recorded(gather::gather(&self.var, index.var(), None))
    }

    /// Like [`Array::gather`] where the mask is true; zero, without reading, where it is false.
    #[must_use]
    #[track_caller]
    pub fn gather_masked<I: Integer>(&self, index: &Array<I>, mask: &Mask) -> Self {
        Array::recorded(gather::gather(&self.var, index.var(), Some(mask.var())))
    }

    /// Like [`Array::gather`], or [`Array::gather_masked`], for an array that belongs to a value of so many elements.
    /// If the array has width 1, all elements of the value share it.
    #[doc(hidden)]
    #[must_use]
    #[track_caller]
    pub fn gather_repeated<I: Integer>(&self, elements: Size, index: &Array<I>, mask: Option<&Mask>) -> Self {
        Array::from_var(gather::gather_repeated(&self.var, elements, index.var(), mask.map(Array::var)))
    }

    /// Like [`Array::gather`], or [`Array::gather_masked`], at indices that are in range, and of which no two are
    /// equal, in all lanes and iterations of the loop around it: an expression is then never recomputed, however much
    /// it costs. `known` returns expressions of the lane number of this array, each with its value at the index; it is
    /// called only for expressions.
    #[doc(hidden)]
    #[must_use]
    #[track_caller]
    pub fn gather_once(&self, index: &UInt, mask: Option<&Mask>, known: impl FnOnce() -> Vec<(UInt, UInt)>) -> Self {
        let known = || known().into_iter().map(|(of, value)| (of.into_var(), value.into_var())).collect();
        Array::from_var(gather::gather_once(&self.var, index.var(), mask.map(Array::var), known))
    }

    /// Returns the array of which this one is the elements at an index, without a mask, if it is not evaluated.
    #[doc(hidden)]
    #[must_use]
    pub fn source_of_gather(&self, index: &UInt) -> Option<Self> {
        let is_gather = self.var.op() == Op::Gather && !self.var.is_evaluated() && self.var.operand(2).is_none();
        let is_at_index = is_gather && self.var.operand(1)?.is_same(index.var());
        if is_at_index { self.var.operand(0).map(Array::from_var) } else { None }
    }

    /// Returns whether this array is an expression that contains another one.
    #[doc(hidden)]
    #[must_use]
    pub fn contains_expression(&self, part: &UInt) -> bool {
        gather::contains(&self.var, part.var())
    }

    #[track_caller]
    pub(super) fn reduce_all(&self, op: ReduceOp) -> Self {
        Array::recorded(reduce::reduce(op, &self.var))
    }
}

impl<T: Number> Array<T> {
    /// Returns the sum of all elements, of width 1; 0 for none. Integers wrap. Halves are summed in single precision.
    ///
    /// Floats are added in a fixed order. In each block of 512 to 4096 elements, by the width, element `i` is added to
    /// the running sum `i % 64`. These sums are added in pairs, and the sums of the blocks again in pairs. So the
    /// result has the same bits for any number of threads, any vector width, and on every device, and each element
    /// takes part in at most 90 additions. Sums made by a reducing scatter are not fixed in this way: see
    /// [`Array::scatter_reduce`].
    #[must_use]
    #[track_caller]
    pub fn sum(&self) -> Self {
        self.reduce_all(ReduceOp::Add)
    }

    /// Returns the product of all elements, of width 1; 1 for none. Integers wrap. Halves are multiplied in single
    /// precision.
    #[must_use]
    #[track_caller]
    pub fn product(&self) -> Self {
        self.reduce_all(ReduceOp::Mul)
    }

    /// Returns the smallest element, of width 1; NaN if any is NaN. For no elements: infinity, or the largest integer.
    #[must_use]
    #[track_caller]
    #[doc(alias = "amin")]
    pub fn reduce_min(&self) -> Self {
        self.reduce_all(ReduceOp::Min)
    }

    /// Returns the largest element, of width 1; NaN if any is NaN. For no elements: minus infinity, or the smallest
    /// integer.
    #[must_use]
    #[track_caller]
    #[doc(alias = "amax")]
    pub fn reduce_max(&self) -> Self {
        self.reduce_all(ReduceOp::Max)
    }
}

impl<T: FloatElement> Array<T> {
    /// Returns the mean of all elements, of width 1; NaN for none. Halves are summed in single precision.
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
    /// Reduces all elements by bitwise (logical) and, to width 1; all ones (true) for none.
    #[must_use]
    #[track_caller]
    pub fn reduce_and(&self) -> Self {
        self.reduce_all(ReduceOp::And)
    }

    /// Reduces all elements by bitwise (logical) or, to width 1; zero (false) for none.
    #[must_use]
    #[track_caller]
    pub fn reduce_or(&self) -> Self {
        self.reduce_all(ReduceOp::Or)
    }
}
