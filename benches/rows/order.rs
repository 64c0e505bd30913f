//! Rows `W…` whose results depend on the lanes before: prefix sums and the positions of true lanes.

use crate::inputs::{checksum, hash32, u01};
use crate::measure::{Bench, RowError};
use crate::throughput::{LARGE, resident};

/// W09c: for each of 2^24 integers, the sum of all integers before it; bound by memory.
pub(crate) fn prefix_sum(bench: &Bench) -> Result<(), RowError> {
    let x = resident((0..LARGE as u32).map(|i| hash32(i) >> 24).collect())?;
    bench.throughput(
        "W09c",
        (1.525_116_317_796_597e17, 1e-12),
        || x.prefix_sum_exclusive(),
        |o| Ok(checksum(&o.to_vec()?)),
    )
}

/// W09d: the positions of the true lanes among 2^24 lanes; bound by memory if nothing branches on them.
pub(crate) fn compress(bench: &Bench) -> Result<(), RowError> {
    let mask = resident((0..LARGE as u32).map(|i| u01(i, 1) < 0.5).collect())?;
    bench.throughput("W09d", (598_087_795_325_162.0, 0.0), || mask.compress(), |o| Ok(checksum(&o.to_vec()?)))
}
