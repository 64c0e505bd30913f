// wanted: arrays of `u64` and `i64` have no common element type
use jit::prelude::*;

#[jit]
fn less(x: UInt64, n: Int64) -> Mask {
    x < n
}

fn main() {}
