//! The factors of the elements of an array that scatters multiply, from which derivatives of the products are computed.
//!
//! The derivative of a product by one factor is the product of all others, whether or not some of them are zero. So the
//! factors that are not zero are multiplied, and the others are counted: with one zero, only the derivative by the zero
//! itself is not zero; with two, none is. Second derivatives follow from the derivatives of these values. For that the
//! zeros are also added: where there is one, the sum stands for it.

use jit_runtime::ir::{CompareOp, ReduceOp, Type};

use super::weight::{compare, div, mul, number, sub};
use crate::graph::Var;
use crate::graph::gradients;
use crate::graph::payload::How;
use crate::trace::record;
use crate::trace::scatter::{self, Request};

/// The factors of each element, in arrays as wide as the one that is multiplied.
#[derive(Clone)]
pub(super) struct Factors {
    /// The product of those that are not zero.
    product: Var,
    /// The number of those that are zero.
    zeros: Var,
    /// Their sum, if the derivative is differentiated.
    sum_of_zeros: Option<Var>,
}

impl Factors {
    /// Describes an array before all scatters: each element has one factor.
    #[track_caller]
    pub(super) fn of(array: &Var) -> Factors {
        let parts = Parts::of(array);
        let sum_of_zeros = (!gradients::is_suspended()).then_some(parts.zero);
        Factors { product: parts.nonzero, zeros: record::cast(Type::U32, &parts.is_zero), sum_of_zeros }
    }

    /// Returns values that are never computed, in place of the factors of an array.
    pub(super) fn placeholder(array: &Var) -> Factors {
        let like = |ty| record::placeholder(ty, array.width());
        let sum_of_zeros = (!gradients::is_suspended()).then(|| like(array.ty()));
        Factors { product: like(array.ty()), zeros: like(Type::U32), sum_of_zeros }
    }

    /// Returns the arrays, as states of a loop that multiplies.
    pub(super) fn into_states(self) -> Vec<Var> {
        [self.product, self.zeros].into_iter().chain(self.sum_of_zeros).collect()
    }

    /// The inverse of [`Factors::into_states`].
    pub(super) fn from_states(states: Vec<Var>) -> Factors {
        let mut states = states.into_iter();
        let mut next = || states.next().expect("factors have two arrays or three");
        Factors { product: next(), zeros: next(), sum_of_zeros: states.next() }
    }

    /// Adds the factors of a scatter.
    #[track_caller]
    pub(super) fn multiply(&mut self, index: &Var, value: &Var, mask: Option<&Var>) {
        let Parts { is_zero, nonzero, zero } = Parts::of(value);
        let write = |target: &mut Var, op: ReduceOp, value: &Var| {
            scatter::scatter(target, &Request { how: How::Reduce(op), index, value, expected: None, mask });
        };
        write(&mut self.product, ReduceOp::Mul, &nonzero);
        write(&mut self.zeros, ReduceOp::Add, &record::cast(Type::U32, &is_zero));
        if let Some(sum) = &mut self.sum_of_zeros {
            write(sum, ReduceOp::Add, &zero);
        }
    }

    /// Returns the product of all factors but one, for a function that reads an array at the element of that factor.
    #[track_caller]
    pub(super) fn without(&self, factor: &Var, read: impl Fn(&Var) -> Var) -> Var {
        let ty = factor.ty();
        let Parts { is_zero, nonzero, zero } = Parts::of(factor);
        let others = div(&read(&self.product), &nonzero);
        let zeros = sub(&read(&self.zeros), &record::cast(Type::U32, &is_zero));
        let is = |count: u64| compare(CompareOp::Eq, &zeros, &record::literal(Type::U32, count, 1));
        let with_zeros = match &self.sum_of_zeros {
            Some(sum) => record::select(&is(1), &mul(&others, &sub(&read(sum), &zero)), &number(ty, 0.0)),
            None => number(ty, 0.0),
        };
        record::select(&is(0), &others, &with_zeros)
    }
}

/// A factor, apart from whether it is zero.
struct Parts {
    is_zero: Var,
    /// The factor, one if it is zero.
    nonzero: Var,
    /// Zero, with the derivative of the factor if that is zero.
    zero: Var,
}

impl Parts {
    #[track_caller]
    fn of(factor: &Var) -> Parts {
        let [zero, one] = [0.0, 1.0].map(|value| number(factor.ty(), value));
        let is_zero = compare(CompareOp::Eq, factor, &zero);
        Parts {
            nonzero: record::select(&is_zero, &one, factor),
            zero: record::select(&is_zero, factor, &zero),
            is_zero,
        }
    }
}
