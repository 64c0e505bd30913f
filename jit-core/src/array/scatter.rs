//! Writing to elements at computed positions: scatters.
//!
//! All of them change the array that they are called on, not its clones, which keep their elements. If there is no
//! other handle, the elements are overwritten in place; otherwise they are copied first. Nothing is written before the
//! array, or a value that depends on it, is evaluated.
//!
//! Value, index and mask have the same width or width 1; each lane writes one element. Inside a traced `if` or `while`
//! only the active lanes write, in each iteration. There the array can be written by more than one scatter, but read
//! only after the region, because other lanes write at other times.
//! scatter, but read only after the region: other lanes write when they get there.

use jit_runtime::ir::{AtomicOp, ReduceOp};

use super::{Array, Element, Integer, Mask, Number, Operand};
use crate::graph::Var;
use crate::graph::payload::How;
use crate::schedule::eager;
use crate::trace::scatter::{self, Request};

fn request<'a>(how: How, value: &'a Var, index: &'a Var, mask: Option<&'a Mask>) -> Request<'a> {
    Request { how, index, value, expected: None, mask: mask.map(Array::var) }
}

impl<T: Element> Array<T> {
    /// Writes values to the elements at some positions. Where several lanes write to the same element, one of the
    /// values is stored: the last lane's under `jit::set_deterministic(true)`.
    ///
    /// The values have the type of the array, or one that promotes into it. The index may have any integer type.
    ///
    /// Nothing is written at positions outside the array, including negative ones, whether literal or computed. With
    /// `JIT_DEBUG=on` they make the array an [`Error`](jit_runtime::Error) that names lane, index, width and line.
    ///
    /// # Panics
    ///
    /// When widths do not match; inside a traced loop, when the array was not declared before the loop.
    #[track_caller]
    pub fn scatter<I: Integer>(&mut self, value: impl Operand<T>, index: &Array<I>) {
        self.write(How::Write, &value.into_array(), index.var(), None);
    }

    /// Like [`Array::scatter`] on the lanes where the mask is true; the others may have any index.
    #[track_caller]
    pub fn scatter_masked<I: Integer>(&mut self, value: impl Operand<T>, index: &Array<I>, mask: &Mask) {
        self.write(How::Write, &value.into_array(), index.var(), Some(mask));
    }

    /// Combines values with the elements at some positions. All lanes contribute, also those with the same position.
    /// Sums and products of floats depend on the order. The order is fixed, for any number of threads, for targets of
    /// at most two elements for each lane, and for all targets under `jit::set_deterministic(true)`;
    /// `docs/evaluation.md` has the details.
    ///
    /// A constant identity is not written: 0 added, 1 multiplied, and so on.
    ///
    /// # Panics
    ///
    /// As [`Array::scatter`], and when the operation does not exist for the element type: `and` and `or` are for
    /// integers and `bool`, the others for numbers.
    #[track_caller]
    pub fn scatter_reduce<I: Integer>(&mut self, op: ReduceOp, value: impl Operand<T>, index: &Array<I>) {
        self.write(How::Reduce(op), &value.into_array(), index.var(), None);
    }

    /// Like [`Array::scatter_reduce`] on the lanes where the mask is true; the others may have any index.
    #[track_caller]
    pub fn scatter_reduce_masked<I: Integer>(
        &mut self,
        op: ReduceOp,
        value: impl Operand<T>,
        index: &Array<I>,
        mask: &Mask,
    ) {
        self.write(How::Reduce(op), &value.into_array(), index.var(), Some(mask));
    }

    /// Writes values to the elements at some positions. Returns the element that each lane found there when it wrote.
    /// Lanes with the same position run one after another, in an unspecified order (in lane order under
    /// `jit::set_deterministic(true)`). Reads outside the array return zero.
    ///
    /// # Panics
    ///
    /// As [`Array::scatter`].
    #[track_caller]
    pub fn scatter_exchange<I: Integer>(&mut self, value: impl Operand<T>, index: &Array<I>) -> Array<T> {
        self.atomic(AtomicOp::Exchange, value.into_array().var(), index.var(), None)
    }

    /// Like [`Array::scatter_exchange`] on the lanes where the mask is true; zero on the others.
    #[track_caller]
    pub fn scatter_exchange_masked<I: Integer>(
        &mut self,
        value: impl Operand<T>,
        index: &Array<I>,
        mask: &Mask,
    ) -> Array<T> {
        self.atomic(AtomicOp::Exchange, value.into_array().var(), index.var(), Some(mask))
    }

    /// Writes values to the elements at some positions, each if the element has the bits of `expected` at that moment.
    /// Returns the element that each lane found, and whether it wrote. Lanes with the same position run one after
    /// another, in an unspecified order.
    ///
    /// # Panics
    ///
    /// As [`Array::scatter`].
    #[track_caller]
    pub fn scatter_cas<I: Integer>(
        &mut self,
        expected: impl Operand<T>,
        value: impl Operand<T>,
        index: &Array<I>,
    ) -> (Array<T>, Mask) {
        self.compare_exchange(&expected.into_array(), &value.into_array(), index.var(), None)
    }

    /// Like [`Array::scatter_cas`] on the lanes where the mask is true; zero and false on the others.
    #[track_caller]
    pub fn scatter_cas_masked<I: Integer>(
        &mut self,
        expected: impl Operand<T>,
        value: impl Operand<T>,
        index: &Array<I>,
        mask: &Mask,
    ) -> (Array<T>, Mask) {
        self.compare_exchange(&expected.into_array(), &value.into_array(), index.var(), Some(mask))
    }

    #[track_caller]
    fn write(&mut self, how: How, value: &Array<T>, index: &Var, mask: Option<&Mask>) {
        scatter::scatter(self.var_mut(), &request(how, value.var(), index, mask));
        eager::after_operation(self.var());
    }

    #[track_caller]
    fn atomic(&mut self, op: AtomicOp, value: &Var, index: &Var, mask: Option<&Mask>) -> Array<T> {
        Array::from_var(scatter::exchange(self.var_mut(), &request(How::Atomic(op), value, index, mask)))
    }

    #[track_caller]
    fn compare_exchange(
        &mut self,
        expected: &Array<T>,
        value: &Array<T>,
        index: &Var,
        mask: Option<&Mask>,
    ) -> (Array<T>, Mask) {
        let request =
            Request { expected: Some(expected.var()), ..request(How::CompareExchange, value.var(), index, mask) };
        let (old, replaced) = scatter::compare_exchange(self.var_mut(), &request);
        (Array::from_var(old), Array::from_var(replaced))
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

    /// Like [`Array::scatter_add`] on the lanes where the mask is true; the others may have any index.
    #[track_caller]
    pub fn scatter_add_masked<I: Integer>(&mut self, value: impl Operand<T>, index: &Array<I>, mask: &Mask) {
        self.scatter_reduce_masked(ReduceOp::Add, value, index, mask);
    }
}

impl<T: Integer> Array<T> {
    /// Adds one to the elements at some positions. Returns the element that each lane found there. So lanes with the
    /// same position get distinct, consecutive numbers, for example slots of a list that is being filled. The
    /// assignment is unspecified except under `jit::set_deterministic(true)`. Lanes whose position is outside the array
    /// get zero.
    ///
    /// # Panics
    ///
    /// As [`Array::scatter`].
    #[track_caller]
    pub fn scatter_inc<I: Integer>(&mut self, index: &Array<I>) -> Array<T> {
        self.atomic(AtomicOp::Reduce(ReduceOp::Add), Array::from(T::ONE).var(), index.var(), None)
    }

    /// Like [`Array::scatter_inc`] on the lanes where the mask is true; zero on the others.
    #[track_caller]
    pub fn scatter_inc_masked<I: Integer>(&mut self, index: &Array<I>, mask: &Mask) -> Array<T> {
        self.atomic(AtomicOp::Reduce(ReduceOp::Add), Array::from(T::ONE).var(), index.var(), Some(mask))
    }
}
