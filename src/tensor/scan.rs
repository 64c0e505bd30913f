//! Prefix reductions along an axis.

use super::lengths::product;
use super::{Axis, Tensor};
use crate::{Element, Number, ReduceOp, Scan, Size};

/// Along an axis with more neighbours in memory than this, elements are combined where they are; another axis is moved
/// to the end.
const FEW_NEIGHBOURS: usize = 8;

impl<T: Element> Tensor<T> {
    /// Returns the reduction, along an axis, of all elements up to each one: see
    /// [`Array::prefix`](crate::Array::prefix). Along an axis with more than eight neighbours in memory, floats are
    /// combined one after another, up to 2048, and in parts of 1024 if there are more.
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// let x = Tensor::from([[1, 5, 3], [2, 1, 4]]);
    /// assert_eq!(x.prefix(1, ReduceOp::Max, Scan::inclusive()).to_vec()?, [1, 5, 5, 2, 2, 4]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn prefix(&self, axis: impl Into<Axis>, op: ReduceOp, scan: Scan) -> Self {
        let axis = axis.into().resolve(&self.shape);
        if self.is_empty() {
            return self.clone();
        }
        if let Some(lengths) = self.columns(axis, op) {
            return self.with_array(self.array.prefix_columns(op, scan, lengths));
        }
        let rows = self.move_axis(axis, -1);
        let array = rows.array.prefix(op, scan.per_block(self.shape[axis]));
        rows.with_array(array).move_axis(-1, axis)
    }

    /// Returns the lengths before, of, and after an axis whose elements are combined where they are.
    fn columns(&self, axis: usize, op: ReduceOp) -> Option<[Size; 3]> {
        let lengths = [&self.shape[..axis], &self.shape[axis..=axis], &self.shape[axis + 1..]].map(product);
        let has_derivative = matches!(op, ReduceOp::Add) || !self.array.grad_enabled();
        (has_derivative && lengths[2] > FEW_NEIGHBOURS).then_some(lengths)
    }
}

impl<T: Number> Tensor<T> {
    /// Returns the sum, along an axis, of all elements up to and including each one.
    #[must_use]
    #[track_caller]
    pub fn prefix_sum(&self, axis: impl Into<Axis>) -> Self {
        self.prefix(axis, ReduceOp::Add, Scan::inclusive())
    }

    /// Returns the sum, along an axis, of all elements before each one.
    #[must_use]
    #[track_caller]
    pub fn prefix_sum_exclusive(&self, axis: impl Into<Axis>) -> Self {
        self.prefix(axis, ReduceOp::Add, Scan::exclusive())
    }
}
