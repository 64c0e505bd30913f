//! `exp_m1` and the hyperbolic functions, from half of e^x - 1.
//!
//! The argument is n·ln 2 + r, and (e^x - 1) / 2 is q·s + (s - ½) with q = e^r - 1 and s = 2^(n-1). s - ½ is exact
//! where it matters, so nothing cancels (the arrangement is Norbert Juffa's). Half is computed because e^x - 1 itself
//! overflows too early for the hyperbolic functions. Polynomials are near-minimax fits of this project.

use super::exponential::{clamp, nearest};
use super::{Arithmetic, Precision};
use crate::ir::op::{BinaryOp, CompareOp};
use crate::ir::types::Type;

/// e^x - 1.
pub(super) fn exp_m1<A: Arithmetic>(m: &mut A, x: A::Value, precision: Precision) -> A::Value {
    let half = half_exp_m1(m, x, 711.0, precision);
    let result = m.add(half, half);
    keep_tiny(m, x, result)
}

/// The hyperbolic sine, E + E / (2 E + 1) with E = (e^|x| - 1) / 2.
pub(super) fn sinh<A: Arithmetic>(m: &mut A, x: A::Value, precision: Precision) -> A::Value {
    let magnitude = m.abs(x);
    let half = half_exp_m1(m, magnitude, 711.0, precision);
    let double = m.add(half, half);
    let whole = m.add_to(double, 1.0);
    let rest = m.div(half, whole);
    let sum = m.add(half, rest);
    // The quotient is below the last place long before it becomes one of infinities.
    let is_large = m.compare_with(CompareOp::Gt, half, 1e30);
    let result = m.select(is_large, half, sum);
    let result = m.copy_sign(result, x);
    keep_tiny(m, x, result)
}

/// The hyperbolic cosine, u + 1 / (4 u) with u = e^|x| / 2.
pub(super) fn cosh<A: Arithmetic>(m: &mut A, x: A::Value, precision: Precision) -> A::Value {
    let magnitude = m.abs(x);
    let half = half_exp_m1(m, magnitude, 711.0, precision);
    let u = m.add_to(half, 0.5);
    let rest = m.divide_by(0.25, u);
    m.add(u, rest)
}

/// The hyperbolic tangent, E / (E + 1) with E = (e^|2x| - 1) / 2.
pub(super) fn tanh<A: Arithmetic>(m: &mut A, x: A::Value, precision: Precision) -> A::Value {
    let magnitude = m.abs(x);
    let double = m.add(magnitude, magnitude);
    let half = half_exp_m1(m, double, 44.0, precision);
    let whole = m.add_to(half, 1.0);
    let result = m.div(half, whole);
    let result = m.copy_sign(result, x);
    keep_tiny(m, x, result)
}

/// Returns the argument itself where it is so small that the result rounds to it.
pub(super) fn keep_tiny<A: Arithmetic>(m: &mut A, x: A::Value, result: A::Value) -> A::Value {
    let magnitude = m.abs(x);
    let is_tiny = m.compare_with(CompareOp::Lt, magnitude, TINY);
    m.select(is_tiny, x, result)
}

/// 2^-54.
const TINY: f64 = 5.551_115_123_125_783e-17;

/// (e^x - 1) / 2 of an `f64`; arguments above the bound are clamped to it.
fn half_exp_m1<A: Arithmetic>(m: &mut A, x: A::Value, high: f64, precision: Precision) -> A::Value {
    // For smaller arguments the result rounds to -½.
    let x = clamp(m, x, -40.0, high);
    let (n, _) = nearest(m, x, std::f64::consts::LOG2_E);
    let lead = m.fma_by(n, -std::f64::consts::LN_2, x);
    let r = m.fma_by(n, -LN_2_TAIL, lead);
    let p = m.horner(r, precision.choose(&SINGLE, &DOUBLE));
    let square = m.mul(r, r);
    let q = if precision == Precision::Single {
        m.fma(square, p, r)
    } else {
        let tail = m.sub(lead, r);
        let tail = m.fma_by(n, -LN_2_TAIL, tail);
        let rest = m.fma(square, p, tail);
        m.add(r, rest)
    };
    // Two factors, since 2^(n-1) itself may overflow; ½ is negligible then.
    let is_large = m.compare_with(CompareOp::Gt, n, 1000.0);
    let first = m.put(is_large, 1000.0, n);
    let second = m.sub(n, first);
    let s = power_of_two(m, first, -1.0);
    let s_less_half = m.add_to(s, -0.5);
    let half = m.fma(q, s, s_less_half);
    let factor = power_of_two(m, second, 0.0);
    m.mul(half, factor)
}

/// 2^(n + offset) for an integral `f64` n, if that is a normal number.
pub(super) fn power_of_two<A: Arithmetic>(m: &mut A, n: A::Value, offset: f64) -> A::Value {
    // The low bits of the sum contain the biased exponent.
    let sum = m.add_to(n, 6_755_399_441_055_744.0 + 1023.0 + offset);
    let bits = m.bitcast(Type::U64, sum);
    let bits = m.with(BinaryOp::Shl, bits, 52);
    m.bitcast(Type::F64, bits)
}

/// ln 2 minus its nearest `f64`.
pub(super) const LN_2_TAIL: f64 = 2.319_046_813_846_299_6e-17;

/// (e^r - 1 - r) / r², to 2^-32 of e^r - 1.
pub(super) const SINGLE: [f64; 6] = [
    0.00019914238791941634,
    0.0013941003760863076,
    0.008333272904822534,
    0.04166635472063388,
    0.1666666681781814,
    0.5000000046390481,
];

/// The same, to 2^-60.
pub(super) const DOUBLE: [f64; 11] = [
    2.0924441788160496e-09,
    2.5109033970335938e-08,
    2.7557242763800453e-07,
    2.755724421062107e-06,
    2.4801587360552504e-05,
    0.00019841269886132905,
    0.0013888888888866839,
    0.008333333333321624,
    0.0416666666666667,
    0.16666666666666677,
    0.5,
];
