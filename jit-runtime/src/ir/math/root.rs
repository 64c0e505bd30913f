//! `cbrt`, `rsqrt` and `hypot`.
//!
//! All end with a correction by the residual of the nearly exact result. Fused steps compute the residual without loss,
//! so little more than the last rounding is inexact. The correction of `hypot` is from C. Borges, "An Improved
//! Algorithm for hypot(a,b)", 2019.

use super::{Arithmetic, Precision};
use crate::ir::op::{BinaryOp, CompareOp};
use crate::ir::types::Type;

/// The constants of a float type for `cbrt`.
struct Format {
    bits: Type,
    /// This minus a third of the bits of x is the bits of about x^(-1/3).
    guess: u64,
    /// Smaller arguments are scaled by a power of two, since their residual would be subnormal: bound, scale, and the
    /// reciprocal of the scale's cube root.
    small: [f64; 3],
    /// The number of steps, each of which quadruples the number of digits.
    steps: usize,
}

const F32: Format = Format {
    bits: Type::U32,
    guess: 0x54a1_f5c0,
    small: [8.271_806_125_530_277e-25, 4.722_366_482_869_645e21, 5.960_464_477_539_063e-8],
    steps: 1,
};

const F64: Format = Format {
    bits: Type::U64,
    guess: 0x553e_e962_aaaa_ac00,
    small: [1.182_780_545_911_405_8e-271, 5.515_652_263_101_987e216, 5.659_799_424_266_695e-73],
    steps: 2,
};

/// The cube root of an `f32` or `f64`, from the reciprocal cube root, which needs no division.
pub(super) fn cbrt<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    let format = if m.ty(x) == Type::F32 { &F32 } else { &F64 };
    let magnitude = m.abs(x);
    let [bound, scale, back] = format.small;
    let is_small = m.compare_with(CompareOp::Lt, magnitude, bound);
    let scaled = m.mul_by(magnitude, scale);
    let a = m.select(is_small, scaled, magnitude);
    let y = reciprocal_cube_root(m, a, format);
    let square = m.mul(y, y);
    let t = m.mul(square, a);
    let third = m.mul_by(square, 1.0 / 3.0);
    let t_square = m.mul(t, t);
    let lost = m.fms(t, t, t_square);
    let residual = m.fnma(t_square, t, a);
    let residual = m.fnma(lost, t, residual);
    let t = m.fma(residual, third, t);
    let smaller = m.mul_by(t, back);
    let t = m.select(is_small, smaller, t);
    let is_finite = m.compare_with(CompareOp::Lt, magnitude, f64::INFINITY);
    let result = m.select(is_finite, t, magnitude);
    m.copy_sign(result, x)
}

/// a^(-1/3) to at least half of the digits.
fn reciprocal_cube_root<A: Arithmetic>(m: &mut A, a: A::Value, format: &Format) -> A::Value {
    let ty = m.ty(a);
    let bits = m.bitcast(format.bits, a);
    let third = m.with(BinaryOp::Div, bits, 3);
    let guess = m.constant(format.bits, format.guess);
    let bits = m.sub(guess, third);
    let mut y = m.bitcast(ty, bits);
    for _ in 0..format.steps {
        // With r = 1 - a y³, the result is y (1 - r)^(-1/3), of which these are the first terms.
        let ay = m.mul(a, y);
        let square = m.mul(y, y);
        let one = m.like(a, 1.0);
        let r = m.fnma(ay, square, one);
        let p = m.horner(r, &[14.0 / 81.0, 2.0 / 9.0, 1.0 / 3.0]);
        let yr = m.mul(y, r);
        y = m.fma(yr, p, y);
    }
    y
}

/// The reciprocal square root of an `f32` or `f64`: y = 1 / √x, plus y (1 - x y²) / 2.
pub(super) fn rsqrt<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    let root = m.sqrt(x);
    let y = m.divide_by(1.0, root);
    // x y in two parts: it is about √x, which neither overflows nor becomes subnormal.
    let high = m.mul(x, y);
    let low = m.fms(x, y, high);
    let one = m.like(x, 1.0);
    let residual = m.fnma(high, y, one);
    let residual = m.fnma(low, y, residual);
    let half = m.mul_by(y, 0.5);
    let corrected = m.fma(half, residual, y);
    // Zeros, infinities and NaN make the residual NaN.
    let is_ordinary = m.compare_with(CompareOp::Lt, residual, 1.0);
    m.select(is_ordinary, corrected, y)
}

/// √(x² + y²) of two `f64`; infinite if one of them is, even if the other is NaN.
pub(super) fn hypot<A: Arithmetic>(m: &mut A, x: A::Value, y: A::Value, precision: Precision) -> A::Value {
    let (x, y) = (m.abs(x), m.abs(y));
    let length = if precision == Precision::Single {
        let square = m.mul(y, y);
        let square = m.fma(x, x, square);
        m.sqrt(square)
    } else {
        hypot_double(m, x, y)
    };
    let [x_infinite, y_infinite] = [x, y].map(|a| m.compare_with(CompareOp::Eq, a, f64::INFINITY));
    let is_infinite = m.binary(BinaryOp::Or, x_infinite, y_infinite);
    m.put(is_infinite, f64::INFINITY, length)
}

fn hypot_double<A: Arithmetic>(m: &mut A, x: A::Value, y: A::Value) -> A::Value {
    const UP: f64 = 4.149_515_568_880_993e180;
    const DOWN: f64 = 2.409_919_865_102_884e-181;
    let swaps = m.compare(CompareOp::Lt, x, y);
    let a = m.select(swaps, y, x);
    let b = m.select(swaps, x, y);
    // Scaled by 2^±600 where squares would overflow or lose digits.
    let is_large = m.compare_with(CompareOp::Gt, a, 1e150);
    let is_small = m.compare_with(CompareOp::Lt, a, 1e-120);
    let one = m.like(a, 1.0);
    let scale = m.put(is_large, DOWN, one);
    let scale = m.put(is_small, UP, scale);
    let back = m.put(is_large, UP, one);
    let back = m.put(is_small, DOWN, back);
    let (a, b) = (m.mul(a, scale), m.mul(b, scale));
    let b_square = m.mul(b, b);
    let square = m.fma(a, a, b_square);
    let h = m.sqrt(square);
    let h_square = m.mul(h, h);
    let a_square = m.mul(a, a);
    let difference = m.sub(h_square, a_square);
    let residual = m.fnma(b, b, difference);
    let h_lost = m.fms(h, h, h_square);
    let residual = m.add(residual, h_lost);
    let a_lost = m.fms(a, a, a_square);
    let residual = m.sub(residual, a_lost);
    let twice = m.add(h, h);
    let correction = m.div(residual, twice);
    let length = m.sub(h, correction);
    let is_zero = m.compare_with(CompareOp::Eq, h, 0.0);
    let length = m.select(is_zero, h, length);
    m.mul(length, back)
}
