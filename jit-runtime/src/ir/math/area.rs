//! `ln_1p` and the inverse hyperbolic functions, which are logarithms of one plus a small term.
//!
//! 1 + x is m·2^k, and m - 1 is x·s + (s - 1) with s = 2^-k, which a fused step computes without the error of 1 + x
//! (the arrangement is Norbert Juffa's).

use super::hyperbolic::keep_tiny;
use super::logarithm::{self, ln_of};
use super::{Arithmetic, Precision};
use crate::ir::op::{BinaryOp, CompareOp};
use crate::ir::types::Type;

/// ln(1 + x).
pub(super) fn ln_1p<A: Arithmetic>(m: &mut A, x: A::Value, precision: Precision) -> A::Value {
    let u = m.add_to(x, 1.0);
    let (exponent, mantissa) = logarithm::split_f64(m, u);
    let k = logarithm::exponent_to_float(m, exponent, 0.0);
    let f_of_large = m.add_to(mantissa, -1.0);
    let bias = m.constant(Type::U64, 2046);
    let bits = m.sub(bias, exponent);
    let bits = m.with(BinaryOp::Shl, bits, 52);
    let s = m.bitcast(Type::F64, bits);
    let s_less_one = m.add_to(s, -1.0);
    let f = m.fma(x, s, s_less_one);
    // From here on 1 is below the last place, and s ends up subnormal.
    let is_large = m.compare_with(CompareOp::Ge, x, 9_007_199_254_740_992.0);
    let f = m.select(is_large, f_of_large, f);
    let result = ln_of(m, k, f, precision);
    let result = keep_tiny(m, x, result);
    logarithm::finish(m, u, result)
}

/// The inverse hyperbolic sine, ln(1 + a + a² / (1 + √(a² + 1))) for a = |x|.
pub(super) fn asinh<A: Arithmetic>(m: &mut A, x: A::Value, precision: Precision) -> A::Value {
    let a = m.abs(x);
    let square = m.mul(a, a);
    let root = m.add_to(square, 1.0);
    let root = m.sqrt(root);
    let below = m.add_to(root, 1.0);
    let rest = m.div(square, below);
    let t = m.add(a, rest);
    let result = ln_1p_or_twice(m, a, t, precision);
    m.copy_sign(result, x)
}

/// The inverse hyperbolic cosine, ln(1 + t + √(t² + 2 t)) for t = x - 1; NaN below 1.
pub(super) fn acosh<A: Arithmetic>(m: &mut A, x: A::Value, precision: Precision) -> A::Value {
    let t = m.add_to(x, -1.0);
    let double = m.add(t, t);
    let square = m.fma(t, t, double);
    let root = m.sqrt(square);
    let sum = m.add(t, root);
    let result = ln_1p_or_twice(m, x, sum, precision);
    let is_outside = m.compare_with(CompareOp::Lt, x, 1.0);
    m.put(is_outside, f64::NAN, result)
}

/// The inverse hyperbolic tangent, ½ ln(1 + 2 a / (1 - a)) for a = |x|; NaN beyond ±1.
pub(super) fn atanh<A: Arithmetic>(m: &mut A, x: A::Value, precision: Precision) -> A::Value {
    let a = m.abs(x);
    let double = m.add(a, a);
    let one = m.like(a, 1.0);
    let rest = m.sub(one, a);
    let t = m.div(double, rest);
    let result = ln_1p(m, t, precision);
    let result = m.mul_by(result, 0.5);
    m.copy_sign(result, x)
}

/// ln(1 + t), or ln(2 a) where a is so large that its square may overflow, or infinite.
fn ln_1p_or_twice<A: Arithmetic>(m: &mut A, a: A::Value, t: A::Value, precision: Precision) -> A::Value {
    let is_large = m.compare_with(CompareOp::Gt, a, 1e18);
    let argument = m.select(is_large, a, t);
    let result = ln_1p(m, argument, precision);
    let double = m.add_to(result, std::f64::consts::LN_2);
    m.select(is_large, double, result)
}
