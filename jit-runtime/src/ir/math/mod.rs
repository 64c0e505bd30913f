//! The transcendental functions, written once as expansions into other operations.
//!
//! The expansions are generic over the implementation of the operations. The pass
//! [`expand_math`](super::passes::expand_math) runs them on a kernel builder, and [`evaluate`](fn@evaluate) runs them
//! on carriers. Both execute the same operations in the same order, so a folded constant has the bits that a kernel
//! would have computed. Halves are computed in `f32`.
//!
//! Invariants: results are right for zeros of both signs, infinities, NaN, subnormal arguments and results, and on both
//! sides of overflow. Expansions are straight-line code, with one exception: arguments of `sin` and `cos` so huge that
//! they need more digits of π are handled in a branch, which is skipped where no lane takes it.
//!
//! The largest errors are listed in `docs/accuracy.md`, which `examples/accuracy` measures; `tests/math_accuracy.rs`
//! checks them.
//!
//! The fast math variants (`fast`) are cheaper in `f32`, and in halves, which are computed in it. They are separate
//! operations, with expansions like the others. A kernel that uses them is a different kernel, and every backend
//! returns the same bits. In `f64` they are the exact functions.

mod angle;
mod area;
mod arithmetic;
mod error_function;
mod evaluate;
mod exponential;
mod fast;
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
pub(crate) fn reduce_angle<A: Arithmetic>(m: &mut A, x: A::Value, is_fast: bool) -> Angle<A::Value> {
    let ty = m.ty(x);
    let x = if matches!(ty, Type::F16 | Type::BF16) { m.cast(Type::F32, x) } else { x };
    match ty {
        Type::F64 => angle::reduce_f64(m, x),
        _ if is_fast => angle::reduce_fast(m, x),
        // No finite f16 is huge.
        _ => angle::reduce_f32(m, x, ty != Type::F16),
    }
}

/// The sine (or cosine) of a reduced angle, as a value of a float type.
pub(crate) fn of_angle<A: Arithmetic>(m: &mut A, op: UnaryOp, ty: Type, angle: Angle<A::Value>) -> A::Value {
    let op = if ty == Type::F64 { op.exact() } else { op };
    let result = match op {
        UnaryOp::Cos => trigonometric::cos(m, angle),
        UnaryOp::FastCos => fast::cos(m, angle),
        UnaryOp::FastSin => fast::sin(m, angle),
        _ => trigonometric::sin(m, angle),
    };
    if m.ty(result) == ty { result } else { m.cast(ty, result) }
}

/// The purpose of a computation in `f64`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Precision {
    /// A result that is rounded to `f32`, for which short polynomials suffice.
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
        Type::F64 if op.is_fast() => expand(m, op.exact(), x),
        ty @ (Type::F16 | Type::BF16) if !matches!(op.exact(), UnaryOp::Sin | UnaryOp::Cos) => {
            let single = m.cast(Type::F32, x);
            let result = expand(m, op, single);
            m.cast(ty, result)
        }
        ty => match op {
            UnaryOp::Sin | UnaryOp::Cos | UnaryOp::FastSin | UnaryOp::FastCos => {
                let angle = reduce_angle(m, x, op.is_fast());
                of_angle(m, op, ty, angle)
            }
            op if op.is_fast() => fast::unary(m, op, x),
            UnaryOp::Exp => exponential::exp(m, x),
            UnaryOp::Exp2 => exponential::exp2(m, x),
            UnaryOp::Ln => logarithm::ln(m, x),
            UnaryOp::Log2 => logarithm::log2(m, x),
            UnaryOp::Cbrt => root::cbrt(m, x),
            UnaryOp::Rsqrt => root::rsqrt(m, x),
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

/// The functions that are computed in `f64` for `f32` too: only the rounding of the result is inexact then.
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
        Type::F64 => expand_binary_wide(m, op.exact(), x, y, Precision::Double),
        Type::F32 if op.exact() != op => fast::binary(m, op, x, y),
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
