//! Reduction of an angle to [-π/4, π/4] and a quadrant.
//!
//! Moderate angles: multiples of π/2, split into three parts, are subtracted by fused steps (W. J. Cody and W. Waite,
//! "Software Manual for the Elementary Functions", 1980). Huge angles: as many digits of 2/π as the exponent requires
//! are multiplied in fixed point (M. Payne and R. Hanek, "Radian Reduction for Trigonometric Functions", SIGNUM
//! Newsletter 18, 1983). The constants of the first method in `f32`, and the structure of the second, are Norbert
//! Juffa's.

use super::Arithmetic;
use crate::ir::op::{BinaryOp, CompareOp, UnaryOp};
use crate::ir::types::Type;

/// A reduced angle: `remainder + tail + quadrant * π/2`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Angle<V> {
    /// `f32` or `f64`, in [-π/4, π/4].
    pub(super) remainder: V,
    /// The rounding error of the remainder. With fast math it is the remainder itself, and not used.
    pub(super) tail: V,
    /// An unsigned integer of the same size, of which only the low two bits are significant.
    pub(super) quadrant: V,
}

/// Larger angles are huge in `f32`.
const HUGE_F32: f64 = 71_476.062_5;

/// Larger angles are huge in `f64`: 2^26, so that multiples of the leading part of π/2 cancel without loss.
const HUGE_F64: f64 = 67_108_864.0;

/// Reduces an `f32`.
pub(super) fn reduce_f32<A: Arithmetic>(m: &mut A, x: A::Value, may_be_huge: bool) -> Angle<A::Value> {
    let rounder = m.like(x, 12_582_912.0);
    let sum = m.fma_by(x, 6.366_197_47e-1, rounder);
    let n = m.sub(sum, rounder);
    let exact = m.fma_by(n, -HALF_PI_F32[0], x);
    let next = m.mul_by(n, HALF_PI_F32[1]);
    let next_tail = m.like(n, HALF_PI_F32[1]);
    let next_tail = m.fms(n, next_tail, next);
    let remainder = m.sub(exact, next);
    let tail = m.sub(exact, remainder);
    let tail = m.sub(tail, next);
    let tail = m.sub(tail, next_tail);
    let tail = m.fma_by(n, -HALF_PI_F32[2], tail);
    let quadrant = m.bitcast(Type::U32, sum);
    if !may_be_huge {
        return Angle { remainder, tail, quadrant };
    }
    let is_huge = is_huge(m, x, HUGE_F32);
    let [remainder, tail, quadrant] = m.rarely(is_huge, |m| reduce_huge_f32(m, x), [remainder, tail, quadrant]);
    Angle { remainder, tail, quadrant }
}

/// Reduces an `f32` that is not huge, without a tail.
pub(super) fn reduce_fast<A: Arithmetic>(m: &mut A, x: A::Value) -> Angle<A::Value> {
    let rounder = m.like(x, 12_582_912.0);
    let sum = m.fma_by(x, 6.366_197_47e-1, rounder);
    let n = m.sub(sum, rounder);
    let mut remainder = x;
    for part in HALF_PI_F32 {
        remainder = m.fma_by(n, -part, remainder);
    }
    let quadrant = m.bitcast(Type::U32, sum);
    Angle { remainder, tail: remainder, quadrant }
}

/// Reduces an `f64`.
pub(super) fn reduce_f64<A: Arithmetic>(m: &mut A, x: A::Value) -> Angle<A::Value> {
    let rounder = m.like(x, 6_755_399_441_055_744.0);
    let sum = m.fma_by(x, std::f64::consts::FRAC_2_PI, rounder);
    let n = m.sub(sum, rounder);
    let exact = m.fma_by(n, -HALF_PI[0], x);
    let remainder = m.fma_by(n, -HALF_PI[1], exact);
    let tail = m.sub(exact, remainder);
    let tail = m.fma_by(n, -HALF_PI[1], tail);
    let tail = m.fma_by(n, -HALF_PI[2], tail);
    let quadrant = m.bitcast(Type::U64, sum);
    let is_huge = is_huge(m, x, HUGE_F64);
    let [remainder, tail, quadrant] = m.rarely(is_huge, |m| reduce_huge_f64(m, x), [remainder, tail, quadrant]);
    Angle { remainder, tail, quadrant }
}

/// Reduces an `f32`, passed as an `f64` of the same value, to a remainder in `f64`, without a tail.
pub(super) fn reduce_wide<A: Arithmetic>(m: &mut A, x: A::Value, wide: A::Value) -> Angle<A::Value> {
    let rounder = m.like(wide, 6_755_399_441_055_744.0);
    let sum = m.fma_by(wide, std::f64::consts::FRAC_2_PI, rounder);
    let n = m.sub(sum, rounder);
    let remainder = m.fma_by(n, -HALF_PI[0], wide);
    let remainder = m.fma_by(n, -HALF_PI[1], remainder);
    let quadrant = m.bitcast(Type::U64, sum);
    let is_huge = is_huge(m, wide, HUGE_F64);
    let [remainder, quadrant] = m.rarely(is_huge, |m| reduce_huge_wide(m, x), [remainder, quadrant]);
    Angle { remainder, tail: remainder, quadrant }
}

/// Infinities and NaN are not huge: the moderate method turns them into NaN.
fn is_huge<A: Arithmetic>(m: &mut A, x: A::Value, limit: f64) -> A::Value {
    let size = m.unary(UnaryOp::Abs, x);
    let is_large = m.compare_with(CompareOp::Gt, size, limit);
    let is_finite = m.compare_with(CompareOp::Lt, size, f64::INFINITY);
    m.binary(BinaryOp::And, is_large, is_finite)
}

/// Returns four neighbouring words, starting at an index below `1 << levels`, of a table that begins with a zero word.
///
/// There is no table in memory: for each bit of the index, the candidates either move up by that many words or do not.
fn window<A: Arithmetic>(m: &mut A, index: A::Value, levels: u32, words: &[u64]) -> [A::Value; 4] {
    let ty = m.ty(index);
    let zero = m.constant(ty, 0);
    let mut candidates = vec![zero];
    candidates.extend(words.iter().map(|&word| m.constant(ty, word)));
    for level in (0..levels).rev() {
        let step = 1 << level;
        let bit = m.with(BinaryOp::And, index, step as u64);
        let moves = m.compare(CompareOp::Ne, bit, zero);
        let at = |position: usize| candidates.get(position).copied().unwrap_or(zero);
        let pairs: Vec<_> = (0..step + 3).map(|position| (at(position + step), at(position))).collect();
        candidates = pairs.into_iter().map(|(moved, kept)| m.select(moves, moved, kept)).collect();
    }
    [candidates[0], candidates[1], candidates[2], candidates[3]]
}

/// Shifts three words up by a number of bits below their size; bits of a fourth word move into the lowest one.
fn shift_words<A: Arithmetic>(m: &mut A, words: [A::Value; 4], count: A::Value) -> [A::Value; 3] {
    let ty = m.ty(count);
    let width = m.constant(ty, ty.bits().into());
    let rest = m.sub(width, count);
    [0, 1, 2].map(|word: usize| {
        let high = m.binary(BinaryOp::Shl, words[word], count);
        // Shifting by the whole width returns zero.
        let low = m.binary(BinaryOp::Shr, words[word + 1], rest);
        m.binary(BinaryOp::Or, high, low)
    })
}

/// Returns the mantissa of a float with its leading one as the highest bit, and, as three words, 2/π times two to the
/// float's exponent.
fn mantissa_and_digits<A: Arithmetic>(m: &mut A, x: A::Value, format: &Format) -> (A::Value, [A::Value; 3]) {
    let bits = m.bitcast(format.bits, x);
    let width = u64::from(format.bits.bits());
    let mantissa = m.with(BinaryOp::Shl, bits, width - 1 - format.mantissa_bits);
    let mantissa = m.with(BinaryOp::Or, mantissa, 1 << (width - 1));
    let exponent = m.with(BinaryOp::Shr, bits, format.mantissa_bits);
    let exponent = m.with(BinaryOp::And, exponent, format.exponent_mask);
    let exponent = m.with(BinaryOp::Sub, exponent, format.bias);
    let index = m.with(BinaryOp::Shr, exponent, width.trailing_zeros().into());
    let words = window(m, index, format.levels, format.words);
    let count = m.with(BinaryOp::And, exponent, width - 1);
    (mantissa, shift_words(m, words, count))
}

struct Format {
    bits: Type,
    mantissa_bits: u64,
    exponent_mask: u64,
    /// The exponent field of floats in [½, 1).
    bias: u64,
    /// Bits of an index into the words.
    levels: u32,
    words: &'static [u64],
}

const F32: Format =
    Format { bits: Type::U32, mantissa_bits: 23, exponent_mask: 0xff, bias: 126, levels: 3, words: &WORDS_32 };
const F64: Format =
    Format { bits: Type::U64, mantissa_bits: 52, exponent_mask: 0x7ff, bias: 1022, levels: 5, words: &WORDS_64 };

/// Splits a fixed-point number with two integer bits into the nearest integer and a signed remainder.
fn split_fixed<A: Arithmetic>(m: &mut A, product: A::Value) -> (A::Value, A::Value) {
    let half = m.with(BinaryOp::Add, product, 1 << 61);
    let quadrant = m.with(BinaryOp::Shr, half, 62);
    let whole = m.with(BinaryOp::Shl, quadrant, 62);
    (quadrant, m.sub(product, whole))
}

/// Applies the sign of the angle to the remainder parts and to the quadrant.
fn mirror<A: Arithmetic>(m: &mut A, x: A::Value, quadrant: A::Value) -> (A::Value, A::Value) {
    let is_negative = m.compare_with(CompareOp::Lt, x, 0.0);
    let mirrored = m.unary(UnaryOp::Neg, quadrant);
    (is_negative, m.select(is_negative, mirrored, quadrant))
}

fn negate_where<A: Arithmetic>(m: &mut A, mask: A::Value, a: A::Value) -> A::Value {
    let negative = m.unary(UnaryOp::Neg, a);
    m.select(mask, negative, a)
}

fn reduce_huge_f32<A: Arithmetic>(m: &mut A, x: A::Value) -> [A::Value; 3] {
    let [wide, quadrant] = reduce_huge_wide(m, x);
    let remainder = m.cast(Type::F32, wide);
    let leading = m.cast(Type::F64, remainder);
    let tail = m.sub(wide, leading);
    [remainder, m.cast(Type::F32, tail), m.cast(Type::U32, quadrant)]
}

/// Remainder (`f64`) and quadrant of a huge `f32`.
fn reduce_huge_wide<A: Arithmetic>(m: &mut A, x: A::Value) -> [A::Value; 2] {
    let (mantissa, digits) = mantissa_and_digits(m, x, &F32);
    // The product in fixed point, 2 bits before the point and 62 after it; higher bits are dropped.
    let mantissa = m.cast(Type::U64, mantissa);
    let [high, middle, low] = digits.map(|word| {
        let word = m.cast(Type::U64, word);
        m.mul(mantissa, word)
    });
    let low = m.with(BinaryOp::Shr, low, 32);
    let high = m.with(BinaryOp::Shl, high, 32);
    let product = m.add(middle, low);
    let product = m.add(product, high);
    let (quadrant, rest) = split_fixed(m, product);
    let rest = m.bitcast(Type::I64, rest);
    let rest = m.cast(Type::F64, rest);
    let factor = m.like(rest, std::f64::consts::FRAC_PI_2 / (1u64 << 62) as f64);
    let remainder = m.mul(rest, factor);
    let (is_negative, quadrant) = mirror(m, x, quadrant);
    [negate_where(m, is_negative, remainder), quadrant]
}

fn reduce_huge_f64<A: Arithmetic>(m: &mut A, x: A::Value) -> [A::Value; 3] {
    let (mantissa, digits) = mantissa_and_digits(m, x, &F64);
    // The product in fixed point, 2 bits before the point and 126 after it, as two words.
    let [high_part, middle_part, _] = digits.map(|word| m.mul(mantissa, word));
    let [_, middle_carry, low_carry] = digits.map(|word| m.binary(BinaryOp::MulHi, mantissa, word));
    let low = m.add(middle_part, low_carry);
    let carries = m.compare(CompareOp::Lt, low, middle_part);
    let carry = m.cast(Type::U64, carries);
    let high = m.add(high_part, middle_carry);
    let high = m.add(high, carry);
    let (quadrant, rest) = split_fixed(m, high);
    let (is_below, high, low) = absolute(m, rest, low);
    let (remainder, tail) = fixed_to_radians(m, high, low);
    let (is_negative, quadrant) = mirror(m, x, quadrant);
    let flips = m.binary(BinaryOp::Xor, is_below, is_negative);
    [negate_where(m, flips, remainder), negate_where(m, flips, tail), quadrant]
}

/// Whether a two-word number is negative, and its absolute value.
fn absolute<A: Arithmetic>(m: &mut A, high: A::Value, low: A::Value) -> (A::Value, A::Value, A::Value) {
    let zero = m.constant(Type::U64, 0);
    let sign = m.with(BinaryOp::Shr, high, 63);
    let is_negative = m.compare(CompareOp::Ne, sign, zero);
    let negative_low = m.unary(UnaryOp::Neg, low);
    let is_zero = m.compare(CompareOp::Eq, low, zero);
    let carry = m.cast(Type::U64, is_zero);
    let complement = m.unary(UnaryOp::Not, high);
    let negative_high = m.add(complement, carry);
    (is_negative, m.select(is_negative, negative_high, high), m.select(is_negative, negative_low, low))
}

/// Returns π/2 times a positive two-word number with 126 bits after the point, as a float and its rounding error.
fn fixed_to_radians<A: Arithmetic>(m: &mut A, high: A::Value, low: A::Value) -> (A::Value, A::Value) {
    // No `f64` is so near a multiple of π/2 that the high word is zero, so the 64 bits from its first one on are
    // enough.
    let zeros = m.unary(UnaryOp::LeadingZeros, high);
    let [word, _, _] = shift_words(m, [high, low, low, low], zeros);
    let leading = m.with(BinaryOp::And, word, !0x7ff);
    let trailing = m.with(BinaryOp::And, word, 0x7ff);
    // 2^(-62 - zeros); both words are multiples of it.
    let exponent = m.constant(Type::U64, 1023 - 62);
    let exponent = m.sub(exponent, zeros);
    let unit = m.with(BinaryOp::Shl, exponent, 52);
    let unit = m.bitcast(Type::F64, unit);
    let [leading, trailing] = [leading, trailing].map(|part| {
        let part = m.cast(Type::F64, part);
        m.mul(part, unit)
    });
    let factor = m.like(leading, HALF_PI[0]);
    let product = m.mul(leading, factor);
    let negative = m.unary(UnaryOp::Neg, product);
    let tail = m.fma(leading, factor, negative);
    let tail = m.fma_by(leading, HALF_PI[1], tail);
    let tail = m.fma_by(trailing, HALF_PI[0], tail);
    let remainder = m.add(product, tail);
    let lost = m.sub(product, remainder);
    (remainder, m.add(lost, tail))
}

/// π/2 in three parts; the first has few enough digits for its remainder to be exact.
const HALF_PI_F32: [f64; 3] = [1.570_796_01, 3.139_164_73e-7, 5.390_302_53e-15];

/// π/2 in three parts; each is the `f64` nearest to what the previous parts do not cover.
const HALF_PI: [f64; 3] = [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];

/// The digits of 2/π with two zero bits before them, so that products have two bits before the point.
const WORDS_32: [u64; 7] = [0x28be_60db, 0x9391_054a, 0x7f09_d5f4, 0x7d4d_3770, 0x36d8_a566, 0x4f10_e410, 0x7f94_58ea];

/// The same for `f64`.
const WORDS_64: [u64; 19] = [
    0x28be_60db_9391_054a,
    0x7f09_d5f4_7d4d_3770,
    0x36d8_a566_4f10_e410,
    0x7f94_58ea_f7ae_f158,
    0x6dc9_1b8e_9093_74b8,
    0x0192_4bba_8274_6487,
    0x3f87_7ac7_2c4a_69cf,
    0xba20_8d7d_4bae_d121,
    0x3a67_1c09_ad17_df90,
    0x4e64_758e_60d4_ce7d,
    0x2721_17e2_ef7e_4a0e,
    0xc7fe_25ff_f781_6603,
    0xfbcb_c462_d682_9b47,
    0xdb4d_9fb3_c9f2_c26d,
    0xd3d1_8fd9_a797_fa8b,
    0x5d49_eeb1_faf9_7c5e,
    0xcf41_ce7d_e294_a4ba,
    0x9afe_d7ec_47e3_5742,
    0x1580_cc11_bf1e_daea,
];
