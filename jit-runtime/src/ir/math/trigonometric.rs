//! `sin` and `cos` of a reduced angle: one of two polynomials on [-π/4, π/4] by the quadrant, and a sign.
//!
//! The polynomials for `f32` are Norbert Juffa's; those for `f64` are from FreeBSD's msun `k_sin.c` and `k_cos.c` (Sun
//! Microsystems, 1993). They also use the rounding error of the reduction.

use super::{Angle, Arithmetic};
use crate::ir::op::{BinaryOp, CompareOp};
use crate::ir::types::Type;

/// The sine of an angle.
pub(super) fn sin<A: Arithmetic>(m: &mut A, angle: Angle<A::Value>) -> A::Value {
    let near_sine = sine(m, angle);
    let near_cosine = cosine(m, angle);
    let odd = is_odd(m, angle.quadrant);
    let result = m.select(odd, near_cosine, near_sine);
    negate_in_half(m, result, angle.quadrant)
}

/// The cosine of an angle: the sine one quadrant further.
pub(super) fn cos<A: Arithmetic>(m: &mut A, angle: Angle<A::Value>) -> A::Value {
    let near_sine = sine(m, angle);
    let near_cosine = cosine(m, angle);
    let odd = is_odd(m, angle.quadrant);
    let result = m.select(odd, near_sine, near_cosine);
    let next = m.with(BinaryOp::Add, angle.quadrant, 1);
    negate_in_half(m, result, next)
}

pub(super) fn is_odd<A: Arithmetic>(m: &mut A, quadrant: A::Value) -> A::Value {
    let ty = m.ty(quadrant);
    let bit = m.with(BinaryOp::And, quadrant, 1);
    let zero = m.constant(ty, 0);
    m.compare(CompareOp::Ne, bit, zero)
}

/// Flips the sign in the third and fourth quadrant.
pub(super) fn negate_in_half<A: Arithmetic>(m: &mut A, x: A::Value, quadrant: A::Value) -> A::Value {
    let (ty, bits_ty) = (m.ty(x), m.ty(quadrant));
    let bit = m.with(BinaryOp::And, quadrant, 2);
    let sign = m.with(BinaryOp::Shl, bit, u64::from(bits_ty.bits()) - 2);
    let bits = m.bitcast(bits_ty, x);
    let bits = m.binary(BinaryOp::Xor, bits, sign);
    m.bitcast(ty, bits)
}

pub(super) fn sine<A: Arithmetic>(m: &mut A, angle: Angle<A::Value>) -> A::Value {
    let x = angle.remainder;
    let z = m.mul(x, x);
    if m.ty(x) == Type::F32 {
        let p = m.horner(z, &[-2.865_679_56e-6, 1.985_599_23e-4, -8.333_385_92e-3, 1.666_666_72e-1]);
        // The sum turns -0 into +0, so that the last step preserves the sign of x.
        let zero = m.like(x, 0.0);
        let cube = m.fma(x, z, zero);
        let rest = m.fms(p, cube, angle.tail);
        return m.sub(x, rest);
    }
    let p = m.horner(
        z,
        &[
            1.589_690_995_211_55e-10,
            -2.505_076_025_340_686_3e-8,
            2.755_731_370_707_006_8e-6,
            -1.984_126_982_985_795e-4,
            8.333_333_333_322_49e-3,
        ],
    );
    let cube = m.mul(z, x);
    let half = m.like(x, 0.5);
    let negative = m.unary(crate::ir::op::UnaryOp::Neg, cube);
    let half_tail = m.mul(half, angle.tail);
    let inner = m.fma(negative, p, half_tail);
    let tail = m.unary(crate::ir::op::UnaryOp::Neg, angle.tail);
    let inner = m.fma(z, inner, tail);
    let inner = m.fma_by(cube, 1.666_666_666_666_663_2e-1, inner);
    m.sub(x, inner)
}

pub(super) fn cosine<A: Arithmetic>(m: &mut A, angle: Angle<A::Value>) -> A::Value {
    let x = angle.remainder;
    let z = m.mul(x, x);
    if m.ty(x) == Type::F32 {
        let p = m.horner(z, &[2.446_770_67e-5, -1.388_772_97e-3, 4.166_665_67e-2, -0.5]);
        let lost = m.mul(x, angle.tail);
        let rest = m.fms(p, z, lost);
        return m.add_to(rest, 1.0);
    }
    let p = m.horner(
        z,
        &[
            -1.135_964_755_778_819_5e-11,
            2.087_572_321_298_175e-9,
            -2.755_731_435_139_066_3e-7,
            2.480_158_728_947_673e-5,
            -1.388_888_888_887_411e-3,
            4.166_666_666_666_66e-2,
        ],
    );
    let (one, half) = (m.like(x, 1.0), m.like(x, 0.5));
    let half_square = m.mul(half, z);
    let leading = m.sub(one, half_square);
    let lost = m.sub(one, leading);
    let lost = m.sub(lost, half_square);
    let fourth = m.mul(z, z);
    let rest = m.fma(fourth, p, lost);
    let negative = m.unary(crate::ir::op::UnaryOp::Neg, angle.tail);
    let rest = m.fma(x, negative, rest);
    m.add(leading, rest)
}
