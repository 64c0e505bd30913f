//! The transcendental functions, written once as expansions into other operations.
//!
//! The expansions are generic over what does the operations: the pass [`expand_math`](super::passes::expand_math) runs
//! them on the builder of a kernel, and [`evaluate`](fn@evaluate) runs them on carriers. Both do the same operations
//! in the same order, so a constant that was folded has the bits that a kernel would have computed. Halves are
//! computed in `f32`.
//!
//! What always holds: results are right for zeros of both signs, infinities, NaN, subnormal arguments and results and
//! on both sides of overflow, and expansions are straight lines of operations, but for arguments of `sin` and `cos` so
//! huge that they need more digits of π, which stand in a branch that is skipped where no lane takes it.
//!
//! Largest errors, in units in the last place of the exact result:
//!
//! | | `f32`, all arguments | `f64`, 20 000 or more samples a range |
//! |---|---|---|
//! | `exp` | 0.866 | 0.82 |
//! | `exp2` | 0.879 | 0.75 |
//! | `ln` | 0.851 | 0.75 |
//! | `log2` | 0.934 | 0.73 |
//! | `sin` | 1.5 | 0.77 |
//! | `cos` | 1.5 | 0.75 |
//!
//! The first column is what `tests/math_accuracy.rs` measures; the second was measured against 140 to 1200 bits, over
//! the whole range and near the zeros of the functions.

mod angle;
mod arithmetic;
mod evaluate;
mod exponential;
mod logarithm;
mod trigonometric;

use super::op::UnaryOp;
use super::types::Type;

pub(crate) use angle::Angle;
pub(crate) use arithmetic::Arithmetic;
pub use evaluate::{evaluate, function};

/// The angle of a sine or cosine, reduced; both functions of one argument share it.
pub(crate) fn reduce_angle<A: Arithmetic>(m: &mut A, x: A::Value) -> Angle<A::Value> {
    match m.ty(x) {
        Type::F16 | Type::BF16 => {
            // No finite f16 is huge.
            let may_be_huge = m.ty(x) == Type::BF16;
            let single = m.cast(Type::F32, x);
            angle::reduce_f32(m, single, may_be_huge)
        }
        Type::F32 => angle::reduce_f32(m, x, true),
        _ => angle::reduce_f64(m, x),
    }
}

/// The sine (or cosine) of a reduced angle, as a value of a float type.
pub(crate) fn of_angle<A: Arithmetic>(m: &mut A, op: UnaryOp, ty: Type, angle: Angle<A::Value>) -> A::Value {
    let result = match op {
        UnaryOp::Cos => trigonometric::cos(m, angle),
        _ => trigonometric::sin(m, angle),
    };
    if m.ty(result) == ty { result } else { m.cast(ty, result) }
}

/// A transcendental function of a float.
pub(crate) fn expand<A: Arithmetic>(m: &mut A, op: UnaryOp, x: A::Value) -> A::Value {
    let ty = m.ty(x);
    if matches!(op, UnaryOp::Sin | UnaryOp::Cos) {
        let angle = reduce_angle(m, x);
        return of_angle(m, op, ty, angle);
    }
    if matches!(ty, Type::F16 | Type::BF16) {
        let single = m.cast(Type::F32, x);
        let result = expand(m, op, single);
        return m.cast(ty, result);
    }
    match op {
        UnaryOp::Exp => exponential::exp(m, x),
        UnaryOp::Exp2 => exponential::exp2(m, x),
        UnaryOp::Ln => logarithm::ln(m, x),
        UnaryOp::Log2 => logarithm::log2(m, x),
        _ => unreachable!("{op:?} is not transcendental"),
    }
}

#[cfg(test)]
mod tests;
