//! Writing to elements at computed positions: scatters.
//!
//! All of them change the array that they are called on, not its clones: those keep their elements. If there is no other
//! handle the elements are overwritten in place, else they are copied first. Nothing is written before the array, or
//! what depends on it, is evaluated.
//!
//! Value, index and mask are equally wide or have width 1; each lane writes one element. Inside of a traced `if` or
//! `while` the lanes write that take part in it, in each iteration. There the array can be written by more than one
//! scatter, but read only after the region.

use jit_runtime::ir::ReduceOp;

use super::{Array, Element, Integer, Mask, Number, Operand};
use crate::trace::effect;

impl<T: Element> Array<T> {
    /// Writes values to the elements at some positions. Where lanes write to the same element, one of the values stays.
    ///
    /// Positions outside of the array are an error of the program, which is detected for constants, and at run time with
    /// `JIT_DEBUG`.
    ///
    /// # Panics
    ///
    /// When widths do not fit together, the array has no elements, or a constant index is out of range.
    #[track_caller]
    pub fn scatter<I: Integer>(&mut self, value: impl Operand<T>, index: &Array<I>) {
        effect::scatter(self.var_mut(), None, value.into_array().var(), index.var(), None);
    }

    /// As [`Array::scatter`] on the lanes where the mask is true; the others may have any index.
    #[track_caller]
    pub fn scatter_masked<I: Integer>(&mut self, value: impl Operand<T>, index: &Array<I>, mask: &Mask) {
        effect::scatter(self.var_mut(), None, value.into_array().var(), index.var(), Some(mask.var()));
    }

    /// Combines values with the elements at some positions. All lanes count, also those with the same position; sums and
    /// products of floats depend on the order, which is unspecified.
    ///
    /// # Panics
    ///
    /// As [`Array::scatter`], and when the operation does not exist for the element type: `and` and `or` are for integers
    /// and `bool`, the others for numbers.
    #[track_caller]
    pub fn scatter_reduce<I: Integer>(&mut self, op: ReduceOp, value: impl Operand<T>, index: &Array<I>) {
        effect::scatter(self.var_mut(), Some(op), value.into_array().var(), index.var(), None);
    }

    /// As [`Array::scatter_reduce`] on the lanes where the mask is true; the others may have any index.
    #[track_caller]
    pub fn scatter_reduce_masked<I: Integer>(
        &mut self,
        op: ReduceOp,
        value: impl Operand<T>,
        index: &Array<I>,
        mask: &Mask,
    ) {
        effect::scatter(self.var_mut(), Some(op), value.into_array().var(), index.var(), Some(mask.var()));
    }
}

impl<T: Number> Array<T> {
    /// Adds values to the elements at some positions, as [`Array::scatter_reduce`] does: a histogram, for example.
    ///
    /// # Panics
    ///
    /// As [`Array::scatter`].
    #[track_caller]
    pub fn scatter_add<I: Integer>(&mut self, value: impl Operand<T>, index: &Array<I>) {
        self.scatter_reduce(ReduceOp::Add, value, index);
    }

    /// As [`Array::scatter_add`] on the lanes where the mask is true; the others may have any index.
    #[track_caller]
    pub fn scatter_add_masked<I: Integer>(&mut self, value: impl Operand<T>, index: &Array<I>, mask: &Mask) {
        self.scatter_reduce_masked(ReduceOp::Add, value, index, mask);
    }
}
