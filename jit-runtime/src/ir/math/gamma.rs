//! The gamma function and the logarithm of its magnitude.
//!
//! ln Γ(z) is Stirling's series from z = 8 on. Smaller arguments are shifted by Γ(y) = Γ(y + 8) / (y (y + 1) … (y +
//! 7)), and those below ½ are reflected by Γ(x) Γ(1 - x) = π / sin πx. In `f64` everything is carried in two parts, so
//! that no digits are lost to cancellation near the zeros of ln Γ or to the exponential function.

use super::logarithm;
use super::power::{Parts, exp_of_parts, exp_single, ln_in_parts, product, square};
use super::{Angle, Arithmetic, Precision, trigonometric};
use crate::ir::op::{BinaryOp, CompareOp, UnaryOp};
use crate::ir::types::Type;

/// The gamma function; infinite at zeros, NaN at negative whole numbers.
pub(super) fn tgamma<A: Arithmetic>(m: &mut A, x: A::Value, precision: Precision) -> A::Value {
    let mirror = Mirror::new(m, x);
    let sine = mirror.sine(m, x);
    let reflected = m.divide_by(std::f64::consts::PI, sine);
    let one = m.like(x, 1.0);
    let factor = m.select(mirror.is_mirrored, reflected, one);
    let result = if precision == Precision::Single {
        let ln = ln_gamma_single(m, mirror.y.high);
        let ln = negate_where(m, mirror.is_mirrored, ln);
        let power = exp_single(m, ln);
        m.mul(power, factor)
    } else {
        let Parts { high, low } = ln_gamma_double(m, mirror.y);
        let [high, low] = [high, low].map(|part| negate_where(m, mirror.is_mirrored, part));
        exp_of_parts(m, Parts { high, low }, factor)
    };
    let infinity = m.like(x, f64::INFINITY);
    let is_infinite = m.compare_with(CompareOp::Eq, x, f64::INFINITY);
    let result = m.select(is_infinite, infinity, result);
    let size = m.abs(x);
    let is_tiny = m.compare_with(CompareOp::Lt, size, TINY);
    let reciprocal = m.div(one, x);
    let result = m.select(is_tiny, reciprocal, result);
    let is_negative = m.compare_with(CompareOp::Lt, x, 0.0);
    let whole = m.unary(UnaryOp::Trunc, x);
    let is_whole = m.compare(CompareOp::Eq, whole, x);
    let is_pole = m.binary(BinaryOp::And, is_negative, is_whole);
    m.put(is_pole, f64::NAN, result)
}

/// ln |Γ(x)|; infinite at zero, at negative whole numbers and at infinities.
pub(super) fn lgamma<A: Arithmetic>(m: &mut A, x: A::Value, precision: Precision) -> A::Value {
    let mirror = Mirror::new(m, x);
    let sine = mirror.sine(m, x);
    let sine = m.abs(sine);
    let one = m.like(x, 1.0);
    let size = m.abs(x);
    let is_tiny = m.compare_with(CompareOp::Lt, size, TINY);
    let pi = m.like(x, std::f64::consts::PI);
    let pi = m.put(is_tiny, 1.0, pi);
    let sine = m.select(is_tiny, size, sine);
    let quotient = m.div(sine, pi);
    let quotient = m.select(mirror.is_mirrored, quotient, one);
    let ln_quotient = logarithm::ln(m, quotient);
    let ln = if precision == Precision::Single {
        ln_gamma_single(m, mirror.y.high)
    } else {
        let Parts { high, low } = ln_gamma_double(m, mirror.y);
        m.add(high, low)
    };
    let sum = m.add(ln_quotient, ln);
    let result = negate_where(m, mirror.is_mirrored, sum);
    let [is_one, is_two] = [1.0, 2.0].map(|zero| m.compare_with(CompareOp::Eq, x, zero));
    let is_zero = m.binary(BinaryOp::Or, is_one, is_two);
    let result = m.put(is_zero, 0.0, result);
    // The largest number whose result is finite; for larger ones, intermediate products overflow. Negative ones are
    // integers.
    let is_infinite = m.compare_with(CompareOp::Gt, size, 2.556_348_163_871_69e305);
    m.put(is_infinite, f64::INFINITY, result)
}

fn negate_where<A: Arithmetic>(m: &mut A, mask: A::Value, a: A::Value) -> A::Value {
    let negative = m.neg(a);
    m.select(mask, negative, a)
}

/// An argument of at least ½: x or, reflected, 1 - x.
struct Mirror<V> {
    is_mirrored: V,
    y: Parts<V>,
}

impl<V: Copy> Mirror<V> {
    fn new<A: Arithmetic<Value = V>>(m: &mut A, x: V) -> Self {
        let is_mirrored = m.compare_with(CompareOp::Lt, x, 0.5);
        let one = m.like(x, 1.0);
        let Parts { high, low } = two_sub(m, one, x);
        let zero = m.like(x, 0.0);
        let y = Parts { high: m.select(is_mirrored, high, x), low: m.select(is_mirrored, low, zero) };
        Mirror { is_mirrored, y }
    }

    /// sin πx.
    fn sine<A: Arithmetic<Value = V>>(&self, m: &mut A, x: V) -> V {
        let half = m.mul_by(x, 0.5);
        let turns = m.unary(UnaryOp::Round, half);
        // x minus an even number, in [-1, 1], exactly; then in quarters of a turn.
        let rest = m.fma_by(turns, -2.0, x);
        let double = m.add(rest, rest);
        let quarters = m.unary(UnaryOp::Round, double);
        let rest = m.fma_by(quarters, -0.5, rest);
        let remainder = m.mul_by(rest, std::f64::consts::PI);
        let pi = m.like(x, std::f64::consts::PI);
        let tail = m.fms(rest, pi, remainder);
        let tail = m.fma_by(rest, 1.224_646_799_147_353_2e-16, tail);
        let shifted = m.add_to(quarters, 6_755_399_441_055_744.0);
        let quadrant = m.bitcast(Type::U64, shifted);
        trigonometric::sin(m, Angle { remainder, tail, quadrant })
    }
}

/// ln Γ(y) for y ≥ ½, with an error of a few 2^-50 of its parts.
fn ln_gamma_single<A: Arithmetic>(m: &mut A, y: A::Value) -> A::Value {
    let is_small = m.compare_with(CompareOp::Lt, y, SHIFT);
    let seven = m.mul_by(y, 7.0);
    let t = m.fma(y, y, seven);
    let mut product = t;
    for pair in PAIRS {
        let factor = m.add_to(t, pair);
        product = m.mul(product, factor);
    }
    let one = m.like(y, 1.0);
    let product = m.select(is_small, product, one);
    let moved = m.add_to(y, SHIFT);
    let z = m.select(is_small, moved, y);
    let ln = logarithm::ln(m, z);
    let ln = m.add_to(ln, -1.0);
    let factor = m.add_to(z, -0.5);
    let series = stirling(m, z);
    let rest = m.add_to(series, STIRLING[0]);
    let whole = m.fma(factor, ln, rest);
    let less = logarithm::ln(m, product);
    m.sub(whole, less)
}

/// ln Γ(y) for y ≥ ½, in two parts.
fn ln_gamma_double<A: Arithmetic>(m: &mut A, y: Parts<A::Value>) -> Parts<A::Value> {
    let is_small = m.compare_with(CompareOp::Lt, y.high, SHIFT);
    let less = ln_of_shift(m, y, is_small);
    let moved = two_add(m, y.high, SHIFT);
    let moved_low = m.add(moved.low, y.low);
    let z = Parts { high: m.select(is_small, moved.high, y.high), low: m.select(is_small, moved_low, y.low) };
    let ln = ln_of(m, z);
    let ln = plus(m, ln, -1.0);
    let factor = plus(m, z, -0.5);
    let whole = product(m, factor, ln);
    let series = stirling(m, z.high);
    let rest = two_add(m, series, STIRLING[0]);
    let rest = Parts { high: rest.high, low: m.add_to(rest.low, STIRLING[1]) };
    let sum = sum(m, whole, rest);
    let [high, low] = [less.high, less.low].map(|part| m.neg(part));
    self::sum(m, sum, Parts { high, low })
}

/// ln (y (y + 1) … (y + 7)), or 0 where the mask is off.
fn ln_of_shift<A: Arithmetic>(m: &mut A, y: Parts<A::Value>, mask: A::Value) -> Parts<A::Value> {
    // The factors in pairs, from both ends: t, t + 6, t + 10 and t + 12 with t = y² + 7 y.
    let seven_high = m.mul_by(y.high, 7.0);
    let factor = m.like(y.high, 7.0);
    let seven_low = m.fms(y.high, factor, seven_high);
    let seven_low = m.fma_by(y.low, 7.0, seven_low);
    let squared = square(m, y);
    let t = sum(m, squared, Parts { high: seven_high, low: seven_low });
    let mut all = t;
    for pair in PAIRS {
        let factor = plus(m, t, pair);
        all = product(m, all, factor);
    }
    let (one, zero) = (m.like(y.high, 1.0), m.like(y.high, 0.0));
    let all = Parts { high: m.select(mask, all.high, one), low: m.select(mask, all.low, zero) };
    ln_of(m, all)
}

/// The natural logarithm of a number in two parts.
fn ln_of<A: Arithmetic>(m: &mut A, a: Parts<A::Value>) -> Parts<A::Value> {
    let ln = ln_in_parts(m, a.high);
    let rest = m.div(a.low, a.high);
    Parts { high: ln.high, low: m.add(ln.low, rest) }
}

/// The term that Stirling's series adds to (z - ½) (ln z - 1) and a constant.
fn stirling<A: Arithmetic>(m: &mut A, z: A::Value) -> A::Value {
    let reciprocal = m.divide_by(1.0, z);
    let square = m.mul(reciprocal, reciprocal);
    let p = m.horner(square, &SERIES);
    m.mul(p, reciprocal)
}

/// `a + constant`, without loss.
fn two_add<A: Arithmetic>(m: &mut A, a: A::Value, constant: f64) -> Parts<A::Value> {
    let b = m.like(a, constant);
    two_sum(m, a, b)
}

/// `a - b`, without loss.
fn two_sub<A: Arithmetic>(m: &mut A, a: A::Value, b: A::Value) -> Parts<A::Value> {
    let b = m.neg(b);
    two_sum(m, a, b)
}

/// `a + b`, without loss (D. Knuth, "The Art of Computer Programming", volume 2, 4.2.2).
fn two_sum<A: Arithmetic>(m: &mut A, a: A::Value, b: A::Value) -> Parts<A::Value> {
    let high = m.add(a, b);
    let b_part = m.sub(high, a);
    let a_part = m.sub(high, b_part);
    let (a_lost, b_lost) = (m.sub(a, a_part), m.sub(b, b_part));
    Parts { high, low: m.add(a_lost, b_lost) }
}

fn plus<A: Arithmetic>(m: &mut A, a: Parts<A::Value>, constant: f64) -> Parts<A::Value> {
    let sum = two_add(m, a.high, constant);
    Parts { high: sum.high, low: m.add(sum.low, a.low) }
}

fn sum<A: Arithmetic>(m: &mut A, a: Parts<A::Value>, b: Parts<A::Value>) -> Parts<A::Value> {
    let sum = two_sum(m, a.high, b.high);
    let low = m.add(a.low, b.low);
    Parts { high: sum.high, low: m.add(sum.low, low) }
}

/// For such small x, Γ(x) is 1 / x, and πx may be subnormal.
const TINY: f64 = 1e-20;

/// The distance by which small arguments are shifted.
const SHIFT: f64 = 8.0;

/// The differences between the products of factors paired from both ends of y (y + 1) … (y + 7) and the first such
/// product.
const PAIRS: [f64; 3] = [6.0, 10.0, 12.0];

/// (ln 2π - 1) / 2 in two parts.
const STIRLING: [f64; 2] = [0.418_938_533_204_672_7, 1.672_820_965_058_541_3e-17];

/// z times the remainder of the logarithm in powers of z^-2, for z ≥ 8, to 2^-63 absolutely; a near-minimax fit of this
/// project.
const SERIES: [f64; 7] = [
    0.004987713512249012,
    -0.0018864060858118788,
    0.0008413922646885862,
    -0.0005952358532497946,
    0.0007936507864101792,
    -0.002777777777767436,
    0.08333333333333333,
];
