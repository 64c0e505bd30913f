//! Prefix reductions along an axis.

use super::{Axis, Tensor};
use crate::{Element, Number, ReduceOp, Scan};

impl<T: Element> Tensor<T> {
    /// Returns the reduction, along an axis, of all elements up to each one: see
    /// [`Array::prefix`](crate::Array::prefix).
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
        let rows = self.move_axis(axis, -1);
        let array = rows.array.prefix(op, scan.per_block(self.shape[axis]));
        rows.with_array(array).move_axis(-1, axis)
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
