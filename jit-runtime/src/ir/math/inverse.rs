//! `asin`, `acos`, `atan` and `atan2`.
//!
//! Each is a multiple of π/4 plus a polynomial of a small value. For `asin` and `acos` that is half of 1 - |x| where it
//! is less than ¼ (asin √z and acos have the same series). For `atan` it is the tangent of the angle that remains after
//! 0, π/4 or π/2 is subtracted. Polynomials are near-minimax fits of this project.

use super::{Arithmetic, Precision};
use crate::ir::op::{BinaryOp, CompareOp};
use crate::ir::types::Type;

/// A constant as the nearest `f64` and the rest.
type Split = [f64; 2];

const ZERO: Split = [0.0, 0.0];
const HALF_PI: Split = [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17];
const QUARTER_PI: Split = [std::f64::consts::FRAC_PI_4, 3.061_616_997_868_383e-17];
const THREE_QUARTERS_PI: Split = [2.356_194_490_192_345, 9.184_850_993_605_148e-17];
const PI: Split = [std::f64::consts::PI, 1.224_646_799_147_353_2e-16];

/// The arcsine; NaN beyond ±1.
pub(super) fn asin<A: Arithmetic>(m: &mut A, x: A::Value, precision: Precision) -> A::Value {
    let series = series(m, x, precision);
    let [near, near_tail] = [series.argument, series.tail].map(|part| m.neg(part));
    let ty = m.ty(x);
    let base = choose(m, ty, series.is_far, HALF_PI, ZERO);
    let u = m.select(series.is_far, series.twice, near);
    let tail = m.select(series.is_far, series.twice_tail, near_tail);
    let result = less(m, base, u, tail, precision);
    m.copy_sign(result, x)
}

/// The arccosine; NaN beyond ±1.
pub(super) fn acos<A: Arithmetic>(m: &mut A, x: A::Value, precision: Precision) -> A::Value {
    let series = series(m, x, precision);
    let is_negative = m.compare_with(CompareOp::Lt, x, 0.0);
    let [twice, twice_tail] = [series.twice, series.twice_tail].map(|part| {
        let negative = m.neg(part);
        m.select(is_negative, part, negative)
    });
    let tail = m.copy_sign(series.tail, x);
    let ty = m.ty(x);
    let [far, far_rest] = choose(m, ty, is_negative, PI, ZERO);
    let [near, near_rest] = split(m, ty, HALF_PI);
    let base = [m.select(series.is_far, far, near), m.select(series.is_far, far_rest, near_rest)];
    let u = m.select(series.is_far, twice, x);
    let tail = m.select(series.is_far, twice_tail, tail);
    less(m, base, u, tail, precision)
}

/// The arcsine of a = |x| if that is at most ½, otherwise twice the arcsine of √((1 - a) / 2); each as a leading term
/// and a tail.
struct Series<V> {
    is_far: V,
    argument: V,
    tail: V,
    twice: V,
    twice_tail: V,
}

fn series<A: Arithmetic>(m: &mut A, x: A::Value, precision: Precision) -> Series<A::Value> {
    let a = m.abs(x);
    let is_far = m.compare_with(CompareOp::Gt, a, 0.5);
    let square = m.mul(a, a);
    let half = m.like(a, 0.5);
    let rest = m.fma_by(a, -0.5, half);
    let z = m.select(is_far, rest, square);
    let root = m.sqrt(z);
    let s = m.select(is_far, root, a);
    let p = m.horner(z, precision.choose(&ASIN_SINGLE, &ASIN_DOUBLE));
    let p = m.mul(p, z);
    let mut tail = m.mul(p, s);
    let near_tail = tail;
    if precision == Precision::Double {
        // The rounding error of the square root.
        let residual = m.fnma(root, root, z);
        let twice = m.add(root, root);
        let lost = m.div(residual, twice);
        let is_zero = m.compare_with(CompareOp::Eq, root, 0.0);
        let lost = m.put(is_zero, 0.0, lost);
        tail = m.add(tail, lost);
    }
    let [twice, twice_tail] = [s, tail].map(|part| m.add(part, part));
    Series { is_far, argument: a, tail: near_tail, twice, twice_tail }
}

fn choose<A: Arithmetic>(m: &mut A, ty: Type, mask: A::Value, a: Split, b: Split) -> [A::Value; 2] {
    let [a, b] = [split(m, ty, a), split(m, ty, b)];
    [m.select(mask, a[0], b[0]), m.select(mask, a[1], b[1])]
}

/// A constant as the nearest number of a type and the remainder.
fn split<A: Arithmetic>(m: &mut A, ty: Type, [leading, rest]: Split) -> [A::Value; 2] {
    let nearest = if ty == Type::F32 { f64::from(leading as f32) } else { leading };
    [m.number(ty, nearest), m.number(ty, leading - nearest + rest)]
}

/// `base - u - tail`, where the base is 0 or larger than u.
fn less<A: Arithmetic>(
    m: &mut A,
    [base, base_rest]: [A::Value; 2],
    u: A::Value,
    tail: A::Value,
    precision: Precision,
) -> A::Value {
    let difference = m.sub(base, u);
    if precision == Precision::Single {
        return m.sub(difference, tail);
    }
    let lost = m.sub(base, difference);
    let lost = m.sub(lost, u);
    let rest = m.add(lost, base_rest);
    let rest = m.sub(rest, tail);
    m.add(difference, rest)
}

/// The arctangent.
pub(super) fn atan<A: Arithmetic>(m: &mut A, x: A::Value, precision: Precision) -> A::Value {
    let a = m.abs(x);
    let one = m.like(x, 1.0);
    let octant = octant(m, a, one, precision);
    let ty = m.ty(x);
    let [middle, middle_rest] = choose(m, ty, octant.is_middle, QUARTER_PI, ZERO);
    let [steep, steep_rest] = split(m, ty, HALF_PI);
    let base = m.select(octant.is_steep, steep, middle);
    let rest = m.select(octant.is_steep, steep_rest, middle_rest);
    let tail = m.add(octant.tail, rest);
    let sum = m.add(octant.t, tail);
    let result = m.add(base, sum);
    m.copy_sign(result, x)
}

/// The angle of the point (x, y), in [-π, π].
pub(super) fn atan2<A: Arithmetic>(m: &mut A, y: A::Value, x: A::Value, precision: Precision) -> A::Value {
    let (a, b) = (m.abs(y), m.abs(x));
    let [a_infinite, b_infinite] = [a, b].map(|side| m.compare_with(CompareOp::Eq, side, f64::INFINITY));
    let both = m.binary(BinaryOp::And, a_infinite, b_infinite);
    let [mut a, mut b] = [a, b].map(|side| m.put(both, 1.0, side));
    if precision == Precision::Double {
        // The sum of the sides may overflow.
        let [a_large, b_large] = [a, b].map(|side| m.compare_with(CompareOp::Gt, side, 1e300));
        let is_large = m.binary(BinaryOp::Or, a_large, b_large);
        let one = m.like(a, 1.0);
        let scale = m.put(is_large, 8.673_617_379_884_035e-19, one);
        (a, b) = (m.mul(a, scale), m.mul(b, scale));
    }
    let one = m.like(x, 1.0);
    let sign = m.copy_sign(one, x);
    let is_left = m.compare_with(CompareOp::Lt, sign, 0.0);
    let octant = octant(m, a, b, precision);
    let ty = m.ty(x);
    let [flat, flat_rest] = choose(m, ty, is_left, PI, ZERO);
    let [middle, middle_rest] = choose(m, ty, is_left, THREE_QUARTERS_PI, QUARTER_PI);
    let [steep, steep_rest] = split(m, ty, HALF_PI);
    let base = m.select(octant.is_middle, middle, flat);
    let base = m.select(octant.is_steep, steep, base);
    let rest = m.select(octant.is_middle, middle_rest, flat_rest);
    let rest = m.select(octant.is_steep, steep_rest, rest);
    let [t, tail] = [octant.t, octant.tail].map(|part| m.mul(part, sign));
    let tail = m.add(tail, rest);
    let sum = m.add(t, tail);
    let result = m.add(base, sum);
    m.copy_sign(result, y)
}

/// An angle in the first quadrant as 0, π/4 or π/2 plus a remainder, given by its tangent and a tail.
struct Octant<V> {
    is_middle: V,
    /// Also set beyond the middle.
    is_steep: V,
    t: V,
    tail: V,
}

/// The arctangent of a / b for non-negative numbers; 0 if both are zero.
fn octant<A: Arithmetic>(m: &mut A, a: A::Value, b: A::Value, precision: Precision) -> Octant<A::Value> {
    // tan(π/8) and tan(3 π/8): the angle is nearest to 0, π/4 or π/2.
    let (low, high) = (m.mul_by(b, 0.414_213_562_373_095_03), m.mul_by(b, 2.414_213_562_373_095));
    let is_middle = m.compare(CompareOp::Gt, a, low);
    let is_steep = m.compare(CompareOp::Gt, a, high);
    let (difference, sum, negative) = (m.sub(a, b), m.add(a, b), m.neg(b));
    let above = m.select(is_middle, difference, a);
    let above = m.select(is_steep, negative, above);
    let below = m.select(is_middle, sum, b);
    let below = m.select(is_steep, a, below);
    let t = m.div(above, below);
    let both = m.add(above, below);
    let are_zero = m.compare_with(CompareOp::Eq, both, 0.0);
    let t = m.put(are_zero, 0.0, t);
    let z = m.mul(t, t);
    let p = m.horner(z, precision.choose(&ATAN_SINGLE, &ATAN_DOUBLE));
    let p = m.mul(p, z);
    let tail = m.mul(p, t);
    Octant { is_middle, is_steep, t, tail }
}

/// (asin √z / √z - 1) / z, to 2^-32.
const ASIN_SINGLE: [f64; 6] = [
    0.03756310611017988,
    0.014404390325611138,
    0.031817056685600933,
    0.04451579656109744,
    0.07500510477725648,
    0.16666659879815313,
];

/// The same, to 2^-56.
const ASIN_DOUBLE: [f64; 12] = [
    0.03195901535198021,
    -0.01629414129413882,
    0.019573946140706903,
    0.006510839816782442,
    0.012173282248485106,
    0.013884598028621228,
    0.01735977115492926,
    0.022371753519674933,
    0.03038195933142427,
    0.04464285682347819,
    0.07500000000343049,
    0.16666666666665383,
];

/// (atan √z / √z - 1) / z, to 2^-35.
const ATAN_SINGLE: [f64; 6] = [
    0.04746916105476539,
    -0.08477820515457757,
    0.1104500300329603,
    -0.142820360282072,
    0.19999905021230777,
    -0.3333333251324054,
];

/// The same, to 2^-58.
const ATAN_DOUBLE: [f64; 12] = [
    0.015199021850799624,
    -0.03347828243215494,
    0.04503714493015415,
    -0.052184451791602554,
    0.05877028167399054,
    -0.06666227411458511,
    0.07692282803229886,
    -0.09090908146513571,
    0.11111111088233275,
    -0.1428571428538891,
    0.19999999999997675,
    -0.33333333333333326,
];
