//! Reductions that are composed of others.
//!
//! All results have width 1 and stay lazy; the input is computed in the kernel that reduces it. Halves are computed in
//! single precision from the first product on, and rounded once at the end.

use jit_runtime::Site;
use jit_runtime::ir::{BinaryOp, ReduceOp, Type};

use super::{Array, Element, FloatElement, Mask, Number, Operand, UInt, length};
use crate::graph::Var;
use crate::misuse::Misuse;
use crate::size::Size;
use crate::trace::{record, reduce};

impl<T: Element> Array<T> {
    /// Reduces all elements to one, of width 1; see [`Array::sum`] and the other methods for each operation.
    ///
    /// # Panics
    ///
    /// When the operation does not exist for the element type: arithmetic of `bool`, and bits of floats.
    #[must_use]
    #[track_caller]
    pub fn reduce(&self, op: ReduceOp) -> Self {
        check_op::<T>(op);
        self.reduce_all(op)
    }
}

/// Panics for operations that an element type does not have.
#[track_caller]
pub(super) fn check_op<T: Element>(op: ReduceOp) {
    let is_bitwise = matches!(op, ReduceOp::And | ReduceOp::Or);
    if (is_bitwise && T::TYPE.is_float()) || (!is_bitwise && T::TYPE == Type::Bool) {
        let what = format!("elements of type {} cannot be combined by `{}`", T::TYPE, op.name());
        let hint = if is_bitwise { "`and` and `or` are for integers and masks" } else { "count a mask with `count`" };
        Misuse::new(what, Site::here()).hint(hint).panic();
    }
}

/// Returns the type in which an element type is summed.
const fn wide(ty: Type) -> Type {
    match ty {
        Type::F16 | Type::BF16 => Type::F32,
        _ => ty,
    }
}

#[track_caller]
fn widened(var: &Var) -> Var {
    record::cast(wide(var.ty()), var)
}

/// Returns the sum of products in the wide type.
#[track_caller]
fn wide_dot(a: &Var, b: &Var) -> Var {
    reduce::reduce(ReduceOp::Add, &record::binary(BinaryOp::Mul, &widened(a), &widened(b)))
}

impl<T: Number> Array<T> {
    /// Returns the sum of the products, of width 1; 0 for no elements. Integers wrap.
    #[must_use]
    #[track_caller]
    pub fn dot(&self, other: impl Operand<T>) -> Self {
        Array::from_var(record::cast(T::TYPE, &wide_dot(self.var(), other.into_array().var())))
    }

    /// Returns the sum of the squares, of width 1; 0 for no elements. Integers wrap.
    #[must_use]
    #[track_caller]
    pub fn squared_norm(&self) -> Self {
        self.dot(self)
    }

    /// Returns the position of the smallest element, of width 1: the first one of several, and the first NaN if there
    /// is one.
    ///
    /// # Panics
    ///
    /// When there are no elements.
    #[must_use]
    #[track_caller]
    pub fn argmin(&self) -> UInt {
        self.position_of(ReduceOp::Min)
    }

    /// Returns the position of the largest element, of width 1: the first one of several, and the first NaN if there is
    /// one.
    ///
    /// # Panics
    ///
    /// When there are no elements.
    #[must_use]
    #[track_caller]
    pub fn argmax(&self) -> UInt {
        self.position_of(ReduceOp::Max)
    }

    /// Returns the first position of the result of a reduction that returns one of the elements.
    #[track_caller]
    fn position_of(&self, op: ReduceOp) -> UInt {
        if self.width() == 0 {
            let what = format!("an array without elements has no {}imum", op.name());
            Misuse::new(what, Site::here()).value("the array", self.var()).hint("check `len()` first").panic();
        }
        let extreme = self.reduce_all(op);
        let mut is_it = self.eq(&extreme);
        if T::TYPE.is_float() {
            // The reduction is NaN if an element is.
            is_it = extreme.ne(&extreme).select(self.ne(self), is_it);
        }
        is_it.select(UInt::arange(self.width()), u32::MAX).reduce_min()
    }
}

impl<T: FloatElement> Array<T> {
    /// Returns the root of the sum of the squares, of width 1; 0 for no elements. Where it is zero, so is its
    /// derivative.
    #[must_use]
    #[track_caller]
    pub fn norm(&self) -> Self {
        let squared = wide_dot(self.var(), self.var());
        let root = length::root(&squared);
        Array::from_var(record::cast(T::TYPE, &root))
    }

    /// Returns the mean squared distance from the mean, of width 1: the population variance. NaN for no elements.
    #[must_use]
    #[track_caller]
    pub fn variance(&self) -> Self {
        self.variance_with(0)
    }

    /// Returns the sum of the squared distances from the mean, divided by the number of elements minus `ddof`, of width
    /// one. With `ddof` 1 it is the sample variance. Not finite for `ddof` elements or fewer.
    ///
    /// It is computed in two passes, the mean first, so a large mean costs no digits.
    #[must_use]
    #[track_caller]
    pub fn variance_with(&self, ddof: usize) -> Self {
        Array::from_var(record::cast(T::TYPE, &self.wide_variance(ddof)))
    }

    /// Returns the root of the variance, of width 1: see [`Array::variance`]. Where it is zero, so is its derivative.
    #[must_use]
    #[track_caller]
    pub fn std(&self) -> Self {
        self.std_with(0)
    }

    /// Returns the root of the variance, of width 1: see [`Array::variance_with`].
    #[must_use]
    #[track_caller]
    pub fn std_with(&self, ddof: usize) -> Self {
        let root = length::root(&self.wide_variance(ddof));
        Array::from_var(record::cast(T::TYPE, &root))
    }

    #[track_caller]
    fn wide_variance(&self, ddof: usize) -> Var {
        let values = widened(self.var());
        let (all, ddof) = (self.width(), Size::from(ddof));
        let mean = quotient(&reduce::reduce(ReduceOp::Add, &values), all);
        let distances = record::binary(BinaryOp::Sub, &values, &mean);
        let free = if all > ddof { all - ddof } else { Size::from(0) };
        quotient(&wide_dot(&distances, &distances), free)
    }
}

/// Returns a sum divided by a number of elements.
#[track_caller]
fn quotient(sum: &Var, count: Size) -> Var {
    let count = record::size_as(sum.ty(), count);
    record::binary(BinaryOp::Div, sum, &count)
}

impl Mask {
    /// Returns whether all lanes are true, of width 1; true for no lanes.
    #[must_use]
    #[track_caller]
    pub fn all(&self) -> Mask {
        self.reduce_and()
    }

    /// Returns whether any lane is true, of width 1; false for no lanes.
    #[must_use]
    #[track_caller]
    pub fn any(&self) -> Mask {
        self.reduce_or()
    }

    /// Returns whether no lane is true, of width 1; true for no lanes.
    #[must_use]
    #[track_caller]
    pub fn none(&self) -> Mask {
        !self.any()
    }

    /// Returns the number of true lanes, of width 1.
    #[must_use]
    #[track_caller]
    pub fn count(&self) -> UInt {
        self.cast::<u32>().sum()
    }
}
