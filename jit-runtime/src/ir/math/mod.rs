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
mod area;
mod arithmetic;
mod error_function;
mod evaluate;
mod exponential;
mod gamma;
mod hyperbolic;
mod inverse;
mod logarithm;
mod power;
mod root;
mod tangent;
mod trigonometric;

use super::op::{BinaryOp, UnaryOp};
use super::types::Type;

pub(crate) use angle::Angle;
pub(crate) use arithmetic::Arithmetic;
pub use evaluate::{binary_function, evaluate, evaluate_binary, function};

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

/// What a computation in `f64` is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Precision {
    /// A result that is rounded to `f32`: short polynomials do.
    Single,
    /// A result in `f64`.
    Double,
}

impl Precision {
    /// The coefficients for this precision.
    fn choose<'a>(self, single: &'a [f64], double: &'a [f64]) -> &'a [f64] {
        if self == Precision::Single { single } else { double }
    }
}

/// A transcendental function of a float.
pub(crate) fn expand<A: Arithmetic>(m: &mut A, op: UnaryOp, x: A::Value) -> A::Value {
    match m.ty(x) {
        ty @ (Type::F16 | Type::BF16) if !matches!(op, UnaryOp::Sin | UnaryOp::Cos) => {
            let single = m.cast(Type::F32, x);
            let result = expand(m, op, single);
            m.cast(ty, result)
        }
        ty => match op {
            UnaryOp::Sin | UnaryOp::Cos => {
                let angle = reduce_angle(m, x);
                of_angle(m, op, ty, angle)
            }
            UnaryOp::Exp => exponential::exp(m, x),
            UnaryOp::Exp2 => exponential::exp2(m, x),
            UnaryOp::Ln => logarithm::ln(m, x),
            UnaryOp::Log2 => logarithm::log2(m, x),
            UnaryOp::Cbrt => root::cbrt(m, x),
            UnaryOp::Tan => tan(m, x),
            _ if ty == Type::F32 => {
                let wide = m.cast(Type::F64, x);
                let result = expand_wide(m, op, wide, Precision::Single);
                m.cast(Type::F32, result)
            }
            _ => expand_wide(m, op, x, Precision::Double),
        },
    }
}

/// The functions that are computed in `f64` for `f32` too: rounding the result is all that errs then.
fn expand_wide<A: Arithmetic>(m: &mut A, op: UnaryOp, x: A::Value, precision: Precision) -> A::Value {
    match op {
        UnaryOp::Log10 => logarithm::log10(m, x, precision),
        UnaryOp::Ln1p => area::ln_1p(m, x, precision),
        UnaryOp::ExpM1 => hyperbolic::exp_m1(m, x, precision),
        UnaryOp::Asin => inverse::asin(m, x, precision),
        UnaryOp::Acos => inverse::acos(m, x, precision),
        UnaryOp::Atan => inverse::atan(m, x, precision),
        UnaryOp::Sinh => hyperbolic::sinh(m, x, precision),
        UnaryOp::Cosh => hyperbolic::cosh(m, x, precision),
        UnaryOp::Tanh => hyperbolic::tanh(m, x, precision),
        UnaryOp::Asinh => area::asinh(m, x, precision),
        UnaryOp::Acosh => area::acosh(m, x, precision),
        UnaryOp::Atanh => area::atanh(m, x, precision),
        UnaryOp::Erf => error_function::erf(m, x, precision),
        UnaryOp::Erfc => error_function::erfc(m, x, precision),
        UnaryOp::Erfinv => error_function::erfinv(m, x, precision),
        UnaryOp::Tgamma => gamma::tgamma(m, x, precision),
        UnaryOp::Lgamma => gamma::lgamma(m, x, precision),
        _ => unreachable!("{op:?} is not transcendental"),
    }
}

fn tan<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    if m.ty(x) == Type::F64 {
        let angle = angle::reduce_f64(m, x);
        return tangent::tan(m, angle, Precision::Double);
    }
    let wide = m.cast(Type::F64, x);
    let angle = angle::reduce_wide(m, x, wide);
    let result = tangent::tan(m, angle, Precision::Single);
    m.cast(Type::F32, result)
}

/// A transcendental function of two floats of one type.
pub(crate) fn expand_binary<A: Arithmetic>(m: &mut A, op: BinaryOp, x: A::Value, y: A::Value) -> A::Value {
    match m.ty(x) {
        Type::F64 => expand_binary_wide(m, op, x, y, Precision::Double),
        Type::F32 => {
            let [x, y] = [x, y].map(|a| m.cast(Type::F64, a));
            let result = expand_binary_wide(m, op, x, y, Precision::Single);
            m.cast(Type::F32, result)
        }
        ty => {
            let [x, y] = [x, y].map(|a| m.cast(Type::F32, a));
            let result = expand_binary(m, op, x, y);
            m.cast(ty, result)
        }
    }
}

fn expand_binary_wide<A: Arithmetic>(
    m: &mut A,
    op: BinaryOp,
    x: A::Value,
    y: A::Value,
    precision: Precision,
) -> A::Value {
    match op {
        BinaryOp::Hypot => root::hypot(m, x, y, precision),
        BinaryOp::Atan2 => inverse::atan2(m, x, y, precision),
        BinaryOp::Pow => power::pow(m, x, y, precision),
        _ => unreachable!("{op:?} is not transcendental"),
    }
}

#[cfg(test)]
mod tests;
