//! `ln`, `log2` and `log10`.
//!
//! The argument is m·2^k with m near 1, and the logarithm is k·log 2 + log m. In `f32` the polynomials are near-minimax
//! fits of this project, and the leading terms are carried in two parts. In `f64` the method and coefficients are those
//! of FreeBSD's msun `e_log.c`, `e_log2.c` and `e_log10.c` (Sun Microsystems, 1993).

use super::{Arithmetic, Precision};
use crate::ir::op::{BinaryOp, CompareOp};
use crate::ir::types::Type;

/// The natural logarithm.
pub(super) fn ln<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    let result = if m.ty(x) == Type::F32 { ln_f32(m, x) } else { ln_f64(m, x) };
    finish(m, x, result)
}

/// The logarithm to base 2.
pub(super) fn log2<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    let result = if m.ty(x) == Type::F32 { log2_f32(m, x) } else { log2_f64(m, x) };
    finish(m, x, result)
}

/// Inserts the results for zero, negative and infinite arguments and NaN.
pub(super) fn finish<A: Arithmetic>(m: &mut A, x: A::Value, result: A::Value) -> A::Value {
    let is_finite = m.compare_with(CompareOp::Lt, x, f64::INFINITY);
    let result = m.select(is_finite, result, x);
    let is_zero = m.compare_with(CompareOp::Eq, x, 0.0);
    let (infinity, nan) = (m.like(x, f64::NEG_INFINITY), m.like(x, f64::NAN));
    let outside = m.select(is_zero, infinity, nan);
    let is_positive = m.compare_with(CompareOp::Gt, x, 0.0);
    m.select(is_positive, result, outside)
}

/// Makes a subnormal normal. Returns the float and one of two constants, the second for a subnormal.
pub(super) fn normalize<A: Arithmetic>(
    m: &mut A,
    x: A::Value,
    least: f64,
    factor: f64,
    k: [f64; 2],
) -> (A::Value, A::Value) {
    let is_small = m.compare_with(CompareOp::Lt, x, least);
    let factor = m.like(x, factor);
    let large = m.mul(x, factor);
    let k = k.map(|k| m.like(x, k));
    (m.select(is_small, large, x), m.select(is_small, k[1], k[0]))
}

/// k and m - 1 for the `f32` m·2^k, with m in [2/3, 4/3].
fn split_f32<A: Arithmetic>(m: &mut A, x: A::Value) -> (A::Value, A::Value) {
    let (x, k) = normalize(m, x, f32::MIN_POSITIVE.into(), 8_388_608.0, [0.0, -23.0]);
    let (exponent, f) = split_normal_f32(m, x);
    (m.fma_by(exponent, 1.0 / 8_388_608.0, k), f)
}

/// k·2^23 and m - 1 for the normal `f32` m·2^k, with m in [2/3, 4/3].
pub(super) fn split_normal_f32<A: Arithmetic>(m: &mut A, x: A::Value) -> (A::Value, A::Value) {
    let bits = m.bitcast(Type::I32, x);
    let distance = m.with(BinaryOp::Sub, bits, 0x3f2a_aaab);
    let exponent = m.with(BinaryOp::And, distance, 0xff80_0000);
    let mantissa = m.sub(bits, exponent);
    let mantissa = m.bitcast(Type::F32, mantissa);
    let one = m.number(Type::F32, 1.0);
    // The exponent is still above the mantissa bits.
    (m.cast(Type::F32, exponent), m.sub(mantissa, one))
}

/// k ln 2 + f - f²/2 + f³ P(f), whose first three terms are summed in two parts.
fn ln_f32<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    let (k, f) = split_f32(m, x);
    let s = m.mul(f, f);
    // Two chains, for the even and the odd coefficients, have a shorter latency than one.
    let even = m.horner(s, &LN_F32_EVEN);
    let odd = m.horner(s, &LN_F32_ODD);
    let p = m.fma(odd, f, even);
    let cube = m.mul(s, f);
    let high = m.fma_by(s, -0.5, f);
    let low = m.sub(f, high);
    let low = m.fma_by(s, -0.5, low);
    let low = m.fma(p, cube, low);
    // The leading part of ln 2 has few digits, so that its multiples are exact.
    let (leading, trailing) = (0.693_145_751_953_125, 1.428_606_765_330_187_3e-6);
    let sum = m.fma_by(k, leading, high);
    let rest = m.fma_by(k, -leading, sum);
    let lost = m.sub(high, rest);
    let low = m.add(low, lost);
    let low = m.fma_by(k, trailing, low);
    m.add(sum, low)
}

const LN_F32_EVEN: [f64; 5] = [
    0.123_603_321_611_881_26,
    0.106_607_668_101_787_57,
    0.143_128_901_720_047,
    0.199_993_044_137_954_7,
    0.333_333_373_069_763_2,
];

const LN_F32_ODD: [f64; 4] =
    [-0.128_491_386_771_202_1, -0.121_948_748_826_980_59, -0.166_796_416_043_235_23, -0.249_998_182_058_334_35];

fn log2_f32<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    let (k, f) = split_f32(m, x);
    let s = m.mul(f, f);
    let tail = m.horner(
        f,
        &[
            -0.181_494_578_719_139_1,
            0.202_046_111_226_081_85,
            -0.176_856_786_012_649_54,
            0.201_992_109_417_915_34,
            -0.240_565_583_109_855_65,
            0.288_694_381_713_867_2,
            -0.360_673_010_349_273_7,
            0.480_896_532_535_553,
            -0.721_347_510_814_666_7,
        ],
    );
    // f / ln 2 in two parts, added to k without loss: the sum and its rounding error.
    let leading = 1.442_695_021_629_333_5;
    let sum = m.fma_by(f, leading, k);
    let rest = m.sub(k, sum);
    let rest = m.fma_by(f, leading, rest);
    let rest = m.fma_by(f, 1.925_963_033_500_011e-8, rest);
    let rest = m.fma(s, tail, rest);
    m.add(sum, rest)
}

/// Parts of `f64` logarithms: k, and for f = m - 1 with m in [√½, √2): f, f²/2, and ln m - f + f²/2.
struct Parts<V> {
    k: V,
    f: V,
    half_square: V,
    rest: V,
}

/// Where the mantissas of [`split_f64`] start: √½.
const ROOT: u64 = 0x3fe6_a09e_667f_3bcd;

/// The biased exponent k + 1023 and m of a positive normal `f64` m·2^k, with m in [√½, √2).
pub(super) fn split_f64<A: Arithmetic>(m: &mut A, x: A::Value) -> (A::Value, A::Value) {
    const ONE: u64 = 0x3ff0_0000_0000_0000;
    let bits = m.bitcast(Type::U64, x);
    let distance = m.with(BinaryOp::Add, bits, ONE - ROOT);
    let exponent = m.with(BinaryOp::Shr, distance, 52);
    let mantissa = m.with(BinaryOp::And, distance, (1 << 52) - 1);
    let mantissa = m.with(BinaryOp::Add, mantissa, ROOT);
    (exponent, m.bitcast(Type::F64, mantissa))
}

/// 2^52: with an exponent in its low bits, this `f64` is 2^52 plus the exponent.
const SHIFT: f64 = 4_503_599_627_370_496.0;

/// Converts a biased exponent to an `f64` without its bias, minus a constant.
pub(super) fn exponent_to_float<A: Arithmetic>(m: &mut A, exponent: A::Value, less: f64) -> A::Value {
    let bias = m.number(Type::F64, SHIFT + 1023.0 + less);
    exponent_less(m, exponent, bias)
}

/// Converts a biased exponent to an `f64`, minus a bias to which [`SHIFT`] was added.
fn exponent_less<A: Arithmetic>(m: &mut A, exponent: A::Value, bias: A::Value) -> A::Value {
    let shifted = m.with(BinaryOp::Or, exponent, SHIFT.to_bits());
    let shifted = m.bitcast(Type::F64, shifted);
    m.sub(shifted, bias)
}

fn parts_f64<A: Arithmetic>(m: &mut A, x: A::Value) -> Parts<A::Value> {
    let bias = SHIFT + 1023.0;
    let (x, bias) = normalize(m, x, f64::MIN_POSITIVE, 18_014_398_509_481_984.0, [bias, bias + 54.0]);
    let (exponent, mantissa) = split_f64(m, x);
    let k = exponent_less(m, exponent, bias);
    let f = m.add_to(mantissa, -1.0);
    parts_of(m, k, f)
}

/// The parts for m - 1 = f.
fn parts_of<A: Arithmetic>(m: &mut A, k: A::Value, f: A::Value) -> Parts<A::Value> {
    let (two, half) = (m.like(f, 2.0), m.like(f, 0.5));
    let half_f = m.mul(half, f);
    let half_square = m.mul(half_f, f);
    let sum = m.add(two, f);
    let s = m.binary(BinaryOp::Div, f, sum);
    let z = m.mul(s, s);
    let w = m.mul(z, z);
    let even = m.horner(w, &[1.531_383_769_920_937_3e-1, 2.222_219_843_214_978_4e-1, 3.999_999_999_940_942e-1]);
    let odd = m.horner(
        w,
        &[1.479_819_860_511_658_6e-1, 1.818_357_216_161_805e-1, 2.857_142_874_366_239e-1, 6.666_666_666_666_735e-1],
    );
    let odd = m.mul(z, odd);
    let series = m.fma(w, even, odd);
    let series = m.add(half_square, series);
    let rest = m.mul(s, series);
    Parts { k, f, half_square, rest }
}

/// k ln 2 + ln(1 + f), of `f64`, for f in [√½ - 1, √2 - 1).
pub(super) fn ln_of<A: Arithmetic>(m: &mut A, k: A::Value, f: A::Value, precision: Precision) -> A::Value {
    if precision == Precision::Single {
        let ln = ln_near_one(m, f);
        return m.fma_by(k, std::f64::consts::LN_2, ln);
    }
    let parts = parts_of(m, k, f);
    sum_of_parts(m, parts)
}

/// ln(1 + f) of an `f64`, to 2^-35.
pub(super) fn ln_near_one<A: Arithmetic>(m: &mut A, f: A::Value) -> A::Value {
    let p = m.horner(f, &LN_SINGLE);
    let half = m.like(f, -0.5);
    let p = m.fma(p, f, half);
    let square = m.mul(f, f);
    m.fma(square, p, f)
}

/// (ln(1 + f) - f + f²/2) / f³, a near-minimax fit of this project.
const LN_SINGLE: [f64; 11] = [
    0.05534797926853448,
    -0.09976980077365777,
    0.09975098760185516,
    -0.09898573433652377,
    0.11013142548324917,
    -0.12500400752399665,
    0.14290407546267878,
    -0.16666783417848136,
    0.19999902826486887,
    -0.24999997904691945,
    0.3333333397866202,
];

fn sum_of_parts<A: Arithmetic>(m: &mut A, parts: Parts<A::Value>) -> A::Value {
    let Parts { k, f, half_square, rest } = parts;
    let rest = m.fma_by(k, 1.908_214_929_270_587_7e-10, rest);
    let rest = m.sub(rest, half_square);
    let sum = m.add(rest, f);
    m.fma_by(k, 6.931_471_803_691_238e-1, sum)
}

fn ln_f64<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    let parts = parts_f64(m, x);
    sum_of_parts(m, parts)
}

fn log2_f64<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    let parts = parts_f64(m, x);
    let [high, low] = ln_in_two_parts(m, &parts);
    let Parts { k, f, .. } = parts;
    let (leading, trailing) = (1.442_695_040_721_446_3, 1.675_171_316_488_651_2e-10);
    let factor = m.like(f, leading);
    let product = m.mul(high, factor);
    let both = m.add(low, high);
    let factor = m.like(f, trailing);
    let small = m.mul(both, factor);
    let small = m.fma_by(low, leading, small);
    let sum = m.add(k, product);
    let lost = m.sub(k, sum);
    let lost = m.add(lost, product);
    let small = m.add(small, lost);
    m.add(small, sum)
}

/// ln m as a high part with few digits, so that its product with a short factor is exact, and a low part.
fn ln_in_two_parts<A: Arithmetic>(m: &mut A, parts: &Parts<A::Value>) -> [A::Value; 2] {
    let high = m.sub(parts.f, parts.half_square);
    let bits = m.bitcast(Type::U64, high);
    let bits = m.with(BinaryOp::And, bits, 0xffff_ffff_0000_0000);
    let high = m.bitcast(Type::F64, bits);
    let low = m.sub(parts.f, high);
    let low = m.sub(low, parts.half_square);
    [high, m.add(low, parts.rest)]
}

/// The logarithm to base 10 of an `f64`.
pub(super) fn log10<A: Arithmetic>(m: &mut A, x: A::Value, precision: Precision) -> A::Value {
    let result = if precision == Precision::Single { log10_single(m, x) } else { log10_double(m, x) };
    finish(m, x, result)
}

/// No `f32` becomes a subnormal `f64`.
fn log10_single<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    let (exponent, mantissa) = split_f64(m, x);
    let k = exponent_to_float(m, exponent, 0.0);
    let f = m.add_to(mantissa, -1.0);
    let ln = ln_near_one(m, f);
    let scaled = m.mul_by(k, std::f64::consts::LOG10_2);
    m.fma_by(ln, std::f64::consts::LOG10_E, scaled)
}

fn log10_double<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    let parts = parts_f64(m, x);
    let [high, low] = ln_in_two_parts(m, &parts);
    let k = parts.k;
    // 1 / ln 10 and log10 2, each as a short part and the rest.
    let (leading, trailing) = (0.434_294_481_878_168_9, 2.508_294_671_164_527_5e-11);
    let (leading_2, trailing_2) = (0.301_029_995_663_611_77, 3.694_239_077_158_931e-13);
    let product = m.mul_by(high, leading);
    let whole = m.mul_by(k, leading_2);
    let both = m.add(low, high);
    let small = m.mul_by(both, trailing);
    let small = m.fma_by(k, trailing_2, small);
    let small = m.fma_by(low, leading, small);
    let sum = m.add(whole, product);
    let lost = m.sub(whole, sum);
    let lost = m.add(lost, product);
    let small = m.add(small, lost);
    m.add(small, sum)
}
