//! Block reductions: every block of consecutive elements is reduced to one.

use jit_runtime::Site;
use jit_runtime::ir::ReduceOp;

use super::derivatives::BlockRule;
use super::reductions::check_op;
use super::{Array, Element, Number};
use crate::graph::Var;
use crate::graph::tape::{self, Rule};
use crate::misuse::Misuse;
use crate::size::Size;
use crate::trace::blocks;

impl<T: Element> Array<T> {
    /// Reduces each block of `elements` consecutive elements; the last block may be shorter. The result has one element
    /// per block, and none for an empty array. Stays lazy: the expression that computes the elements is fused into the
    /// same kernel.
    ///
    /// Blocks of one element return the array itself; a block longer than the array reduces all of it. Integers wrap.
    /// Sums and products of halves are computed in single precision and rounded once.
    ///
    /// Sums and products of floats have the same bits on every device, for any number of threads and any vector width:
    /// blocks of at most 32 elements are combined in ascending order, starting from the identity (so that a sum of
    /// zeros is +0). In blocks of at most 512, element `i` is added to the running sum `i % 8`, except that up to seven
    /// elements at the end are added to the first one, and these sums are added in pairs. Longer blocks are summed in
    /// the order of [`Array::sum`], see [`jit_runtime::ir`].
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    /// use jit_runtime::ir::ReduceOp;
    ///
    /// let x = UInt::from([3, 1, 4, 1, 5]);
    /// assert_eq!(x.block_reduce(ReduceOp::Max, 2).to_vec()?, [3, 4, 5]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When blocks have no elements, when the elements have no such operation (arithmetic of `bool`, bits of floats),
    /// or on the state of a traced loop.
    #[must_use]
    #[track_caller]
    pub fn block_reduce(&self, op: ReduceOp, elements: impl Into<Size>) -> Self {
        let elements = elements.into();
        check_op::<T>(op);
        if elements == 0 {
            Misuse::new("blocks of a reduction have at least one element", Site::here())
                .value("the array", &self.var)
                .panic();
        }
        Array::from_var(block_reduced(op, &self.var, elements))
    }
}

/// Records a reduction of blocks that has a derivative.
#[track_caller]
pub(super) fn block_reduced(op: ReduceOp, var: &Var, block: Size) -> Var {
    let rule = || -> Box<dyn Rule> { Box::new(BlockRule { op, block }) };
    tape::attach_one(blocks::block_reduce(op, var, block), vec![var.clone()], rule, Site::here())
}

impl<T: Number> Array<T> {
    /// Returns the sum of each block of so many consecutive elements; see [`Array::block_reduce`].
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    ///
    /// let x = UInt::from([3, 1, 4, 1, 5]);
    /// assert_eq!(x.block_sum(2).to_vec()?, [4, 5, 5]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn block_sum(&self, elements: impl Into<Size>) -> Self {
        self.block_reduce(ReduceOp::Add, elements)
    }
}
