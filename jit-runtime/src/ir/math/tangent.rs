//! `tan`: the quotient of sine and cosine of the reduced angle, or its negative reciprocal by the quadrant.

use super::trigonometric::{cosine, is_odd, sine};
use super::{Angle, Arithmetic, Precision};
use crate::ir::op::BinaryOp;
use crate::ir::types::Type;

/// The tangent of a reduced `f64` angle.
pub(super) fn tan<A: Arithmetic>(m: &mut A, angle: Angle<A::Value>, precision: Precision) -> A::Value {
    let (sine, cosine) = if precision == Precision::Single {
        short_sine_and_cosine(m, angle.remainder)
    } else {
        (sine(m, angle), cosine(m, angle))
    };
    let odd = is_odd(m, angle.quadrant);
    let above = m.select(odd, cosine, sine);
    let below = m.select(odd, sine, cosine);
    let quotient = m.div(above, below);
    let bits = m.bitcast(Type::U64, quotient);
    let sign = m.with(BinaryOp::Shl, angle.quadrant, 63);
    let bits = m.binary(BinaryOp::Xor, bits, sign);
    m.bitcast(Type::F64, bits)
}

/// Sine and cosine on [-π/4, π/4], to 2^-37, by near-minimax fits of this project.
fn short_sine_and_cosine<A: Arithmetic>(m: &mut A, x: A::Value) -> (A::Value, A::Value) {
    let z = m.mul(x, x);
    let p = m.horner(z, &[2.7183111261670067e-06, -0.0001983933489510435, 0.008333329386570065, -0.16666666641639016]);
    // The sum turns -0 into +0, so that the last step preserves the sign of x.
    let zero = m.like(x, 0.0);
    let cube = m.fma(x, z, zero);
    let sine = m.fma(p, cube, x);
    let q = m.horner(
        z,
        &[-2.721022858619766e-07, 2.4799519897693243e-05, -0.001388888375299021, 0.041666666622823235, -0.5, 1.0],
    );
    (sine, q)
}
