//! Rows `W12…`: calls whose target depends on the lane.

use jit::prelude::*;

use crate::inputs::{checksum, hash32, u01s};
use crate::measure::{Bench, RowError};
use crate::throughput::resident;

type Function = fn(Float) -> Float;

/// `x^8` plus a polynomial of degree 7.
fn polynomial(x: Float) -> Float {
    (0..8).fold(Float::from(1.0), |p, q| p.mul_add(&x, 0.1 + 0.1 * q as f32))
}

/// A tent to the power of three.
#[jit]
fn tent(x: Float) -> Float {
    let t = if x < 0.5 { 2.0 * &x } else { 2.0 - 2.0 * &x };
    &t * &t * &t
}

const FUNCTIONS: [Function; 8] = [
    |x| x.mul_add(&x, 1.0),
    |x| (x + 1.0).sqrt(),
    |x| 1.0 / (x + 0.5),
    |x| (-x).exp(),
    |x| (3.0 * x).sin(),
    polynomial,
    |x| (1.0 + x).ln(),
    tent,
];

/// Calls one of eight functions on each of 2^22 lanes.
fn calls(bench: &Bench, workload: &'static str, wanted: f64, numbers: Vec<u32>) -> Result<(), RowError> {
    let (number, x) = (resident(numbers)?, resident(u01s(1 << 22, 1, |u| u))?);
    bench.throughput(
        workload,
        (wanted, 1e-6),
        || jit::switch(&number, &FUNCTIONS, (x.clone(),)),
        |o| Ok(checksum(&o.to_vec()?)),
    )
}

fn random_numbers() -> Vec<u32> {
    (0..1 << 22).map(|lane| hash32(lane) >> 29).collect()
}

/// W12: neighbouring lanes call different functions; bound by computing all of them.
pub(crate) fn mixed(bench: &Bench) -> Result<(), RowError> {
    calls(bench, "W12", 32_719_401.21, random_numbers())
}

/// W12.coherent: neighbouring lanes call the same function; bound by memory.
pub(crate) fn coherent(bench: &Bench) -> Result<(), RowError> {
    let mut numbers = random_numbers();
    numbers.sort_unstable();
    calls(bench, "W12.coherent", 32_705_511.42, numbers)
}
