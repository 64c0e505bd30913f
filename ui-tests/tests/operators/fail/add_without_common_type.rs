// wanted: arrays of `u64` and `i32` have no common element type
use jit::prelude::*;

fn sum(x: &UInt64, n: &Int) {
    let _ = x + n;
}

fn main() {}
// rows: K22
