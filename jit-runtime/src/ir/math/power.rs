//! `powf`: e to the power of y·ln|x|, and the many special cases.
//!
//! In `f64` the logarithm is carried in two parts, to about 66 bits, since errors grow with the size of the exponent.
//! Its series is that of the inverse hyperbolic tangent of (m - 1) / (m + 1), without tables.

use super::exponential::{clamp, nearest, scale};
use super::hyperbolic::{self, power_of_two};
use super::logarithm::{exponent_to_float, ln_near_one, normalize, split_f64};
use super::{Arithmetic, Precision};
use crate::ir::op::{BinaryOp, CompareOp, UnaryOp};

/// A number in two parts; the second is small.
#[derive(Clone, Copy)]
pub(super) struct Parts<V> {
    pub(super) high: V,
    pub(super) low: V,
}

/// x to the power of y, as annex F of C23 defines it.
pub(super) fn pow<A: Arithmetic>(m: &mut A, x: A::Value, y: A::Value, precision: Precision) -> A::Value {
    let a = m.abs(x);
    let power = if precision == Precision::Single { power_single(m, a, y) } else { power_double(m, a, y) };
    let power = put_extremes(m, a, y, power);
    let result = put_signs(m, x, a, y, power);
    // The result is NaN for a NaN operand, with these exceptions.
    let [x_is_number, y_is_number] = [x, y].map(|v| m.compare(CompareOp::Eq, v, v));
    let are_numbers = m.binary(BinaryOp::And, x_is_number, y_is_number);
    let nan = m.like(x, f64::NAN);
    let result = m.select(are_numbers, result, nan);
    let is_one = m.compare_with(CompareOp::Eq, x, 1.0);
    let is_free = m.compare_with(CompareOp::Eq, y, 0.0);
    let is_one = m.binary(BinaryOp::Or, is_one, is_free);
    m.put(is_one, 1.0, result)
}

/// Zero and infinite operands: the power is 0 or infinite, or 1 for a base of size 1.
fn put_extremes<A: Arithmetic>(m: &mut A, a: A::Value, y: A::Value, power: A::Value) -> A::Value {
    let is_zero = m.compare_with(CompareOp::Eq, a, 0.0);
    let size = m.abs(y);
    let [a_infinite, y_infinite] = [a, size].map(|v| m.compare_with(CompareOp::Eq, v, f64::INFINITY));
    let is_extreme = m.binary(BinaryOp::Or, a_infinite, y_infinite);
    let is_extreme = m.binary(BinaryOp::Or, is_extreme, is_zero);
    let is_large = m.compare_with(CompareOp::Gt, a, 1.0);
    let is_positive = m.compare_with(CompareOp::Gt, y, 0.0);
    let vanishes = m.binary(BinaryOp::Xor, is_large, is_positive);
    let infinity = m.like(a, f64::INFINITY);
    let extreme = m.put(vanishes, 0.0, infinity);
    let power = m.select(is_extreme, extreme, power);
    let is_one = m.compare_with(CompareOp::Eq, a, 1.0);
    m.put(is_one, 1.0, power)
}

/// Negative bases: integral exponents return the power with a sign, others NaN.
pub(super) fn put_signs<A: Arithmetic>(m: &mut A, x: A::Value, a: A::Value, y: A::Value, power: A::Value) -> A::Value {
    let whole = m.unary(UnaryOp::Trunc, y);
    let is_whole = m.compare(CompareOp::Eq, whole, y);
    let half = m.mul_by(y, 0.5);
    let half_whole = m.unary(UnaryOp::Trunc, half);
    let is_odd = m.compare(CompareOp::Ne, half_whole, half);
    let is_odd = m.binary(BinaryOp::And, is_odd, is_whole);
    let signed = m.copy_sign(power, x);
    let result = m.select(is_odd, signed, power);
    let is_negative = m.compare_with(CompareOp::Lt, x, 0.0);
    let is_finite = m.compare_with(CompareOp::Lt, a, f64::INFINITY);
    let is_broken = m.unary(UnaryOp::Not, is_whole);
    let is_undefined = m.binary(BinaryOp::And, is_negative, is_broken);
    let is_undefined = m.binary(BinaryOp::And, is_undefined, is_finite);
    m.put(is_undefined, f64::NAN, result)
}

fn power_single<A: Arithmetic>(m: &mut A, a: A::Value, y: A::Value) -> A::Value {
    let (exponent, mantissa) = split_f64(m, a);
    let k = exponent_to_float(m, exponent, 0.0);
    let f = m.add_to(mantissa, -1.0);
    let ln = ln_near_one(m, f);
    let ln = m.fma_by(k, std::f64::consts::LN_2, ln);
    let product = m.mul(ln, y);
    exp_single(m, product)
}

/// e to the power of an `f64`, to about 2^-32, where the result is not far outside of the range of `f32`.
pub(super) fn exp_single<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    let x = clamp(m, x, -160.0, 140.0);
    let (n, _) = nearest(m, x, std::f64::consts::LOG2_E);
    let r = m.fma_by(n, -std::f64::consts::LN_2, x);
    let p = m.horner(r, &hyperbolic::SINGLE);
    let square = m.mul(r, r);
    let q = m.fma(square, p, r);
    let power = power_of_two(m, n, 0.0);
    m.fma(q, power, power)
}

fn power_double<A: Arithmetic>(m: &mut A, a: A::Value, y: A::Value) -> A::Value {
    let ln = ln_in_parts(m, a);
    let high = m.mul(ln.high, y);
    let low = m.fms(ln.high, y, high);
    let low = m.fma(ln.low, y, low);
    let size = m.abs(high);
    let is_moderate = m.compare_with(CompareOp::Lt, size, 1000.0);
    let zero = m.like(a, 0.0);
    let low = m.select(is_moderate, low, zero);
    let one = m.like(a, 1.0);
    exp_of_parts(m, Parts { high, low }, one)
}

/// The natural logarithm of a positive finite `f64`, to about 66 bits.
pub(super) fn ln_in_parts<A: Arithmetic>(m: &mut A, a: A::Value) -> Parts<A::Value> {
    let (a, less) = normalize(m, a, f64::MIN_POSITIVE, 18_014_398_509_481_984.0, [0.0, 54.0]);
    let (exponent, mantissa) = split_f64(m, a);
    let k = exponent_to_float(m, exponent, 0.0);
    let k = m.sub(k, less);
    let f = m.add_to(mantissa, -1.0);
    let s = ratio(m, f);
    // z = s², and s + s z (1/3 + z (1/5 + …)); all but the last bracket need two parts.
    let z = square(m, s);
    let p = m.horner(z.high, &ATANH);
    let zp = m.mul(p, z.high);
    let third = m.like(f, THIRD[0]);
    let bracket = m.add(third, zp);
    let lost = m.sub(third, bracket);
    let lost = m.add(lost, zp);
    let lost = m.add_to(lost, THIRD[1]);
    let series = product(m, z, Parts { high: bracket, low: lost });
    let series = product(m, series, s);
    let [s_high, s_low, c_high, c_low] = [s.high, s.low, series.high, series.low].map(|v| m.add(v, v));
    // k ln 2; the high part is exact.
    let whole = m.mul_by(k, LN_2[0]);
    let high = m.add(whole, s_high);
    let lost = m.sub(whole, high);
    let lost = m.add(lost, s_high);
    let total = m.add(high, c_high);
    let lost_more = m.sub(high, total);
    let lost_more = m.add(lost_more, c_high);
    let low = m.add(s_low, c_low);
    let low = m.fma_by(k, LN_2[1], low);
    let low = m.add(low, lost_more);
    let low = m.add(low, lost);
    Parts { high: total, low }
}

/// f / (2 + f).
fn ratio<A: Arithmetic>(m: &mut A, f: A::Value) -> Parts<A::Value> {
    let two = m.like(f, 2.0);
    let below = m.add(two, f);
    let below_low = m.sub(two, below);
    let below_low = m.add(below_low, f);
    let reciprocal = m.divide_by(1.0, below);
    let high = m.mul(f, reciprocal);
    let rest = m.fnma(high, below, f);
    let rest = m.fnma(high, below_low, rest);
    let low = m.mul(rest, reciprocal);
    Parts { high, low }
}

pub(super) fn square<A: Arithmetic>(m: &mut A, a: Parts<A::Value>) -> Parts<A::Value> {
    let high = m.mul(a.high, a.high);
    let low = m.fms(a.high, a.high, high);
    let twice = m.add(a.low, a.low);
    Parts { high, low: m.fma(a.high, twice, low) }
}

pub(super) fn product<A: Arithmetic>(m: &mut A, a: Parts<A::Value>, b: Parts<A::Value>) -> Parts<A::Value> {
    let high = m.mul(a.high, b.high);
    let low = m.fms(a.high, b.high, high);
    let low = m.fma(a.high, b.low, low);
    Parts { high, low: m.fma(a.low, b.high, low) }
}

/// A factor times e to the power of a number in two parts.
pub(super) fn exp_of_parts<A: Arithmetic>(m: &mut A, x: Parts<A::Value>, factor: A::Value) -> A::Value {
    let high = clamp(m, x.high, -800.0, 800.0);
    let (n, sum) = nearest(m, high, std::f64::consts::LOG2_E);
    let lead = m.fma_by(n, -std::f64::consts::LN_2, high);
    let rest = m.fma_by(n, -hyperbolic::LN_2_TAIL, x.low);
    let r = m.add(lead, rest);
    let lost = m.sub(lead, r);
    let lost = m.add(lost, rest);
    let p = m.horner(r, &hyperbolic::DOUBLE);
    let r_square = m.mul(r, r);
    let q = m.fma(r_square, p, lost);
    let q = m.add(q, r);
    let result = m.fma(q, factor, factor);
    scale(m, result, sum)
}

const THIRD: [f64; 2] = [0.333_333_333_333_333_3, 1.850_371_707_708_594e-17];
const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];

/// (atanh √z / √z - 1 - z/3) / z², a near-minimax fit of this project.
const ATANH: [f64; 9] = [
    0.05506646891437495,
    0.05211453131872341,
    0.05884336845524614,
    0.06666620219267944,
    0.07692308376588117,
    0.09090909084626604,
    0.11111111111145289,
    0.14285714285714188,
    0.2,
];
