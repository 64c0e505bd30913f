//! The fast math variants, in `f32`: errors of two to four units in the last place, and fewer special cases.
//!
//! Besides accuracy, they differ as follows:
//!
//! * Subnormal numbers count as zero where that is cheaper. Results above 2^127.5 may be infinite already.
//! * Angles beyond ±71 476 are reduced with an error that grows with them.
//! * The error of `pow` grows by a few units for each doubling of its result or its reciprocal. Powers of one, of
//!   infinities and to infinite exponents may be NaN.
//! * `hypot` overflows and underflows with the squares of its operands; `atan2` overflows with their sum.
//!
//! Otherwise NaN, zeros, infinities and the signs of results are right. Polynomials are near-minimax fits of this
//! project, except that of `erf`, which is Norbert Juffa's.

use super::exponential::clamp;
use super::logarithm::split_normal_f32;
use super::trigonometric::{is_odd, negate_in_half};
use super::{Angle, Arithmetic, Precision, angle, inverse, power};
use crate::ir::op::{BinaryOp, CompareOp, UnaryOp};
use crate::ir::types::Type;

/// A function of one `f32`, except sine and cosine.
pub(super) fn unary<A: Arithmetic>(m: &mut A, op: UnaryOp, x: A::Value) -> A::Value {
    match op {
        UnaryOp::FastExp => exp(m, x),
        UnaryOp::FastExp2 => exp2(m, x),
        UnaryOp::FastLn => logarithm(m, x, 1.0),
        UnaryOp::FastLog2 => logarithm(m, x, std::f64::consts::LOG2_E),
        UnaryOp::FastLog10 => logarithm(m, x, std::f64::consts::LOG10_E),
        UnaryOp::FastTan => tan(m, x),
        UnaryOp::FastAsin => inverse::asin(m, x, Precision::Single),
        UnaryOp::FastAcos => inverse::acos(m, x, Precision::Single),
        UnaryOp::FastAtan => inverse::atan(m, x, Precision::Single),
        UnaryOp::FastSinh => sinh(m, x),
        UnaryOp::FastCosh => cosh(m, x),
        UnaryOp::FastTanh => tanh(m, x),
        UnaryOp::FastErf => erf(m, x),
        UnaryOp::FastRsqrt => {
            let root = m.sqrt(x);
            m.divide_by(1.0, root)
        }
        _ => unreachable!("{op:?} has no fast variant"),
    }
}

/// A function of two `f32`.
pub(super) fn binary<A: Arithmetic>(m: &mut A, op: BinaryOp, x: A::Value, y: A::Value) -> A::Value {
    match op {
        BinaryOp::FastAtan2 => inverse::atan2(m, x, y, Precision::Single),
        BinaryOp::FastPow => pow(m, x, y),
        BinaryOp::FastHypot => {
            let square = m.mul(y, y);
            let square = m.fma(x, x, square);
            m.sqrt(square)
        }
        _ => unreachable!("{op:?} has no fast variant"),
    }
}

/// The integer nearest to `x * factor`, and the corresponding power of two: 0 for -127, infinite for 128.
fn nearest<A: Arithmetic>(m: &mut A, x: A::Value, factor: f64) -> (A::Value, A::Value) {
    // The last place of the sum is 1, and its low bits contain the bias of the exponent.
    let rounder = m.like(x, 12_582_912.0 + 127.0);
    let sum = if factor == 1.0 { m.add(x, rounder) } else { m.fma_by(x, factor, rounder) };
    let bits = m.bitcast(Type::U32, sum);
    let bits = m.with(BinaryOp::Shl, bits, 23);
    (m.sub(sum, rounder), m.bitcast(Type::F32, bits))
}

fn exp<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    let x = clamp(m, x, -88.0, 89.0);
    let (n, power) = nearest(m, x, std::f64::consts::LOG2_E);
    let r = m.fma_by(n, -6.931_457_52e-1, x);
    let r = m.fma_by(n, -1.428_606_77e-6, r);
    let p = m.horner(r, &EXP);
    m.mul(p, power)
}

fn exp2<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    let x = clamp(m, x, -127.0, 128.0);
    let (n, power) = nearest(m, x, 1.0);
    let r = m.sub(x, n);
    let p = m.horner(r, &EXP2);
    m.mul(p, power)
}

/// P and f², whose product is ln(1 + f) - f, for f in [-1/3, 1/3].
fn ln_near_one<A: Arithmetic>(m: &mut A, f: A::Value) -> (A::Value, A::Value) {
    let s = m.mul(f, f);
    let even = m.horner(s, &LN_EVEN);
    let odd = m.horner(s, &LN_ODD);
    (m.fma(even, f, odd), s)
}

/// The natural logarithm times a factor.
fn logarithm<A: Arithmetic>(m: &mut A, x: A::Value, factor: f64) -> A::Value {
    let (exponent, f) = split_normal_f32(m, x);
    let (p, s) = ln_near_one(m, f);
    let ln = m.fma(p, s, f);
    let ln = if factor == 1.0 { ln } else { m.mul_by(ln, factor) };
    let result = m.fma_by(exponent, std::f64::consts::LN_2 * factor / 8_388_608.0, ln);
    let is_negative = m.compare_with(CompareOp::Lt, x, 0.0);
    let infinity = m.like(x, f64::NEG_INFINITY);
    let outside = m.put(is_negative, f64::NAN, infinity);
    let is_normal = m.compare_with(CompareOp::Ge, x, f32::MIN_POSITIVE.into());
    let result = m.select(is_normal, result, outside);
    let is_finite = m.compare_with(CompareOp::Lt, x, f64::INFINITY);
    m.select(is_finite, result, x)
}

/// Sine and cosine of the remainder of a reduced angle.
fn sine_and_cosine<A: Arithmetic>(m: &mut A, x: A::Value) -> (A::Value, A::Value) {
    let z = m.mul(x, x);
    let p = m.horner(z, &SIN);
    // The sum turns -0 into +0, so that the last step preserves the sign of x.
    let zero = m.like(x, 0.0);
    let cube = m.fma(x, z, zero);
    (m.fma(p, cube, x), m.horner(z, &COS))
}

/// The sine of a reduced angle.
pub(super) fn sin<A: Arithmetic>(m: &mut A, angle: Angle<A::Value>) -> A::Value {
    let (sine, cosine) = sine_and_cosine(m, angle.remainder);
    let odd = is_odd(m, angle.quadrant);
    let result = m.select(odd, cosine, sine);
    negate_in_half(m, result, angle.quadrant)
}

/// The cosine of a reduced angle.
pub(super) fn cos<A: Arithmetic>(m: &mut A, angle: Angle<A::Value>) -> A::Value {
    let (sine, cosine) = sine_and_cosine(m, angle.remainder);
    let odd = is_odd(m, angle.quadrant);
    let result = m.select(odd, sine, cosine);
    let next = m.with(BinaryOp::Add, angle.quadrant, 1);
    negate_in_half(m, result, next)
}

fn tan<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    let angle = angle::reduce_fast(m, x);
    let (sine, cosine) = sine_and_cosine(m, angle.remainder);
    let odd = is_odd(m, angle.quadrant);
    let above = m.select(odd, cosine, sine);
    let below = m.select(odd, sine, cosine);
    let quotient = m.div(above, below);
    let bits = m.bitcast(Type::U32, quotient);
    let sign = m.with(BinaryOp::Shl, angle.quadrant, 31);
    let bits = m.binary(BinaryOp::Xor, bits, sign);
    m.bitcast(Type::F32, bits)
}

/// `x + x³ P(x²)`.
fn odd_series<A: Arithmetic>(m: &mut A, x: A::Value, coefficients: &[f64]) -> A::Value {
    let z = m.mul(x, x);
    let p = m.horner(z, coefficients);
    let cube = m.mul(x, z);
    m.fma(p, cube, x)
}

/// By its series, or (e^|x| - e^-|x|) / 2.
fn sinh<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    let magnitude = m.abs(x);
    let near = odd_series(m, magnitude, &SINH);
    let half = half_exp(m, magnitude);
    let rest = m.divide_by(0.25, half);
    let far = m.sub(half, rest);
    let is_far = m.compare_with(CompareOp::Ge, magnitude, 1.0);
    let result = m.select(is_far, far, near);
    m.copy_sign(result, x)
}

/// (e^|x| + e^-|x|) / 2.
fn cosh<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    let magnitude = m.abs(x);
    let half = half_exp(m, magnitude);
    let rest = m.divide_by(0.25, half);
    m.add(half, rest)
}

fn half_exp<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    let whole = exp(m, x);
    m.mul_by(whole, 0.5)
}

/// By its series, or 1 - 2 / (e^|2x| + 1).
fn tanh<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    let magnitude = m.abs(x);
    let near = odd_series(m, magnitude, &TANH);
    let twice = m.add(magnitude, magnitude);
    let power = exp(m, twice);
    let below = m.add_to(power, 1.0);
    let rest = m.divide_by(-2.0, below);
    let far = m.add_to(rest, 1.0);
    let is_far = m.compare_with(CompareOp::Ge, magnitude, 0.625);
    let result = m.select(is_far, far, near);
    m.copy_sign(result, x)
}

/// By a polynomial, or 1 - e^P(|x|).
fn erf<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    let magnitude = m.abs(x);
    let s = m.mul(x, x);
    let near = m.horner(s, &ERF_NEAR);
    let near = m.fma(near, magnitude, magnitude);
    // Beyond, the result is 1.
    let t = clamp(m, magnitude, 0.0, 4.0);
    let p = m.horner(t, &ERF_FAR);
    let negative = m.neg(t);
    let p = m.fma(p, t, negative);
    let power = exp(m, p);
    let one = m.like(x, 1.0);
    let far = m.sub(one, power);
    let is_far = m.compare_with(CompareOp::Gt, magnitude, 0.927_734_375);
    let result = m.select(is_far, far, near);
    m.copy_sign(result, x)
}

/// 2 to the power of y·log2 |x|, with a sign. The logarithm is carried in two parts.
fn pow<A: Arithmetic>(m: &mut A, x: A::Value, y: A::Value) -> A::Value {
    let a = m.abs(x);
    let (exponent, f) = split_normal_f32(m, a);
    let k = m.mul_by(exponent, 1.0 / 8_388_608.0);
    let (p, s) = ln_near_one(m, f);
    let tail = m.mul(p, s);
    let leading = f64::from(std::f32::consts::LOG2_E);
    let high = m.fma_by(f, leading, k);
    let rest = m.sub(k, high);
    let rest = m.fma_by(f, leading, rest);
    let rest = m.fma_by(f, std::f64::consts::LOG2_E - leading, rest);
    let (whole, rest) = (high, m.fma_by(tail, leading, rest));
    let high = m.add(whole, rest);
    let lost = m.sub(whole, high);
    let rest = m.add(lost, rest);
    let is_zero = m.compare_with(CompareOp::Lt, a, f32::MIN_POSITIVE.into());
    let high = m.put(is_zero, -1e30, high);
    let is_finite = m.compare_with(CompareOp::Lt, a, f64::INFINITY);
    let high = m.select(is_finite, high, a);
    let product = m.mul(high, y);
    let lost = m.fms(high, y, product);
    let lost = m.fma(rest, y, lost);
    let size = m.abs(product);
    let is_moderate = m.compare_with(CompareOp::Lt, size, 200.0);
    let zero = m.like(x, 0.0);
    let lost = m.select(is_moderate, lost, zero);
    let product = clamp(m, product, -127.0, 128.0);
    let (n, factor) = nearest(m, product, 1.0);
    let r = m.sub(product, n);
    let r = m.add(r, lost);
    let p = m.horner(r, &EXP2);
    let power = m.mul(p, factor);
    power::put_signs(m, x, a, y, power)
}

/// e^r for |r| ≤ ½ ln 2.
const EXP: [f64; 6] = [
    0.008_290_272_206_068_039,
    0.041_898_161_172_866_82,
    0.166_676_387_190_818_8,
    0.499_991_476_535_797_1,
    0.999_999_701_976_776_1,
    1.0,
];

/// 2^r for |r| ≤ ½.
const EXP2: [f64; 6] = [
    0.001_326_472_731_307_149,
    0.009_671_512_991_189_957,
    0.055_507_335_811_853_41,
    0.240_222_424_268_722_53,
    0.693_147_003_650_665_3,
    1.0,
];

/// Coefficients of (ln(1 + f) - f) / f², the odd powers of f.
const LN_EVEN: [f64; 4] =
    [0.142_273_068_428_039_55, 0.139_580_011_367_797_85, 0.200_130_894_780_159, 0.333_331_793_546_676_64];

/// The even powers of f.
const LN_ODD: [f64; 4] = [-0.151_245_906_949_043_27, -0.164_719_089_865_684_5, -0.250_042_557_716_369_63, -0.5];

/// (sin x - x) / x³ in x².
const SIN: [f64; 3] = [-0.000_195_169_777_725_823_22, 0.008_332_176_133_990_288, -0.166_666_552_424_430_85];

/// cos x in x².
const COS: [f64; 4] = [-0.001_359_155_285_172_164_4, 0.041_655_756_533_145_905, -0.499_998_837_709_426_9, 1.0];

/// (sinh x - x) / x³ in x², for |x| ≤ 1.
const SINH: [f64; 3] = [0.000_203_721_938_305_534_42, 0.008_330_283_686_518_669, 0.166_667_163_372_039_8];

/// (tanh x - x) / x³ in x², for |x| ≤ 0.625.
const TANH: [f64; 5] = [
    -0.005_704_987_328_499_556,
    0.020_639_088_004_827_5,
    -0.053_739_715_367_555_62,
    0.133_314_415_812_492_37,
    -0.333_332_806_825_637_8,
];

/// erf x / x - 1 in x², for |x| ≤ 0.93.
const ERF_NEAR: [f64; 6] =
    [-5.967_617_03e-4, 4.991_194_23e-3, -2.676_813_49e-2, 1.128_199_25e-1, -3.761_253_36e-1, 1.283_791_66e-1];

/// (ln(1 - erf x) + x) / x, for larger x.
const ERF_FAR: [f64; 7] = [
    -1.728_534_70e-5,
    3.831_971_26e-4,
    -3.883_964_38e-3,
    2.425_462_19e-2,
    -1.067_778_77e-1,
    -6.348_466_87e-1,
    -1.287_175_12e-1,
];
