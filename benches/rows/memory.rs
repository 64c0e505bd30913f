//! Rows `W…` that move data between lanes: gathers and scatters at computed indices.

use jit::prelude::*;

use crate::inputs::{checksum, hash32, u01s};
use crate::measure::{Bench, RowError};
use crate::throughput::{LARGE, resident};

/// A bijection of the 24-bit integers.
fn perm24(i: u32) -> u32 {
    const MASK: u32 = (1 << 24) - 1;
    let mut x = i;
    x ^= x >> 12;
    x = x.wrapping_mul(0x00d1_68d5) & MASK;
    x ^= x >> 12;
    x = x.wrapping_mul(0x003c_6ef3) & MASK;
    x ^ (x >> 12)
}

/// The indices that a function returns for 2^24 lanes, in memory.
fn indices(function: impl Fn(u32) -> u32) -> Result<UInt, RowError> {
    resident((0..LARGE as u32).map(function).collect())
}

/// W08: 2^24 elements in the order of a permutation; bound by the latency of memory.
pub(crate) fn permutation(bench: &Bench) -> Result<(), RowError> {
    let (x, order) = (resident(u01s(LARGE, 1, |u| u))?, indices(perm24)?);
    bench.throughput("W08", (71_316_010.604_921_16, 1e-8), || x.gather(&order), |o| Ok(checksum(&o.to_vec()?)))
}

/// How often each of `bins` indices occurs.
fn histogram(index: &UInt, bins: usize) -> UInt {
    let mut counts = UInt::zeros(bins);
    counts.scatter_add(1, index);
    counts
}

/// W07a: 2^24 indices counted in 256 bins; bound by additions to the same addresses.
pub(crate) fn small_histogram(bench: &Bench) -> Result<(), RowError> {
    let index = indices(|i| hash32(i) >> 24)?;
    bench.throughput("W07a", (142_603_472.0, 0.0), || histogram(&index, 1 << 8), |o| Ok(checksum(&o.to_vec()?)))
}

/// W07b: 2^24 indices counted in 2^20 bins; bound by the latency of the cache.
pub(crate) fn large_histogram(bench: &Bench) -> Result<(), RowError> {
    let index = indices(|i| hash32(i) >> 12)?;
    bench.throughput("W07b", (142_634_925.0, 0.0), || histogram(&index, 1 << 20), |o| Ok(checksum(&o.to_vec()?)))
}

/// Points along each side of the stencil's grid.
const SIDE: u32 = 2048;

/// The mean of each point and its four neighbours on a grid whose opposite sides touch.
#[jit]
fn smoothed(a: &Float) -> Float {
    let i = UInt::arange(a.width());
    let (x, y) = (&i & (SIDE - 1), &i & !(SIDE - 1));
    let (west, east) = (&y | ((&x - 1) & (SIDE - 1)), &y | ((&x + 1) & (SIDE - 1)));
    let (north, south) = ((&i - SIDE) & (SIDE * SIDE - 1), (&i + SIDE) & (SIDE * SIDE - 1));
    0.2 * (a + a.gather(&west) + a.gather(&east) + a.gather(&north) + a.gather(&south))
}

/// W10: 100 steps of a five-point stencil over 2048 x 2048 points; bound by memory if gathers of neighbours are loads.
pub(crate) fn stencil(bench: &Bench) -> Result<(), RowError> {
    let x = resident(u01s((SIDE * SIDE) as usize, 1, |u| u))?;
    let steps = || {
        let mut a = x.clone();
        for _ in 0..100 {
            a = smoothed(&a);
            // A failure is stored at the array, and reported when it is read.
            let _ = jit::eval(&a);
        }
        a
    };
    bench.throughput("W10", (17_829_539.87, 1e-5), steps, |o| Ok(checksum(&o.to_vec()?)))
}
