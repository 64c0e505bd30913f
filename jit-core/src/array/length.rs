//! Roots of sums of squares: lengths of vectors, and standard deviations.

use jit_runtime::ir::{CompareOp, UnaryOp};

use super::{Array, FloatElement};
use crate::graph::Var;
use crate::graph::scopes;
use crate::trace::record;

/// Returns the root of a sum of squares, see [`root_of_squares`].
#[track_caller]
pub(super) fn root(squares: &Var) -> Var {
    if !scopes::is_enabled(squares) {
        return record::unary(UnaryOp::Sqrt, squares);
    }
    let zero = record::literal(squares.ty(), 0, 1);
    let is_zero = record::compare(CompareOp::Eq, squares, &zero);
    record::unary(UnaryOp::Sqrt, &record::select(&is_zero, &zero, squares))
}

/// Returns the root of a sum of squares. Where the sum is zero, so is its derivative by what was squared: zero is a
/// subgradient of a length there, and the derivative of `hypot`. That of the root alone is infinite, and NaN once it is
/// multiplied by the zeros that were squared.
#[doc(hidden)]
#[must_use]
#[track_caller]
pub fn root_of_squares<T: FloatElement>(squares: &Array<T>) -> Array<T> {
    Array::from_var(root(squares.var()))
}
