//! Rows `W…` that move data between lanes: gathers and scatters at computed indices.

use jit::prelude::*;

use crate::inputs::{checksum, u01s};
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

/// The indices that a function gives for 2^24 lanes, in memory.
fn indices(function: impl Fn(u32) -> u32) -> Result<UInt, RowError> {
    resident((0..LARGE as u32).map(function).collect())
}

/// W08: 2^24 elements in the order of a permutation; bound by the latency of memory.
pub(crate) fn permutation(bench: &Bench) -> Result<(), RowError> {
    let (x, order) = (resident(u01s(LARGE, 1, |u| u))?, indices(perm24)?);
    bench.throughput("W08", (71_316_010.604_921_16, 1e-8), || x.gather(&order), |o| Ok(checksum(&o.to_vec()?)))
}
