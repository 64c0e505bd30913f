//! Functions that only derivatives need.

use jit_runtime::ir::{CompareOp, Type, UnaryOp};

use super::weight::{add, compare, div, function, mul, number, sub};
use crate::graph::Var;
use crate::trace::record;

/// Arguments below are shifted upwards, where the asymptotic series converges.
const SHIFTS: u32 = 10;

/// Returns the logarithmic derivative of the gamma function, ψ(x).
///
/// Arguments below ½ are reflected, ψ(x) = ψ(1 − x) − π / tan(πx). The others are raised by 10 by the recurrence
/// ψ(x) = ψ(x + 1) − 1/x, and the asymptotic series ln z − 1/2z − Σ B₂ₖ / (2k z²ᵏ) is summed to k = 7 there
/// (Abramowitz and Stegun 6.3.5 to 6.3.18). Halves are computed in single precision.
#[track_caller]
pub(super) fn digamma(x: &Var) -> Var {
    if matches!(x.ty(), Type::F16 | Type::BF16) {
        return record::cast(x.ty(), &digamma(&record::cast(Type::F32, x)));
    }
    let n = |value: f64| number(x.ty(), value);
    let is_reflected = compare(CompareOp::Lt, x, &n(0.5));
    let z = record::select(&is_reflected, &sub(&n(1.0), x), x);
    let shifted = (0..SHIFTS).fold(n(0.0), |sum, step| add(&sum, &div(&n(1.0), &add(&z, &n(f64::from(step))))));
    let value = sub(&series(&add(&z, &n(f64::from(SHIFTS)))), &shifted);
    // The angle is reduced to one turn, so that large negative arguments keep their fraction.
    let turn = sub(x, &function(UnaryOp::Round, x));
    let cotangent = div(&n(std::f64::consts::PI), &function(UnaryOp::Tan, &mul(&n(std::f64::consts::PI), &turn)));
    record::select(&is_reflected, &sub(&value, &cotangent), &value)
}

#[track_caller]
fn series(z: &Var) -> Var {
    const TERMS: [f64; 7] =
        [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32760.0, 1.0 / 12.0];
    let n = |value: f64| number(z.ty(), value);
    let inverse = div(&n(1.0), z);
    let square = mul(&inverse, &inverse);
    let sum = TERMS.iter().rev().fold(n(0.0), |sum, &term| mul(&add(&sum, &n(term)), &square));
    sub(&sub(&function(UnaryOp::Ln, z), &mul(&n(0.5), &inverse)), &sum)
}
