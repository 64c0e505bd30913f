// wanted: mismatched types
use jit::prelude::*;

#[jit]
fn drift(x: Float, n: UInt) -> UInt {
    let mut n = n;
    while x < 1.0 {
        n = x * 2.0;
    }
    n
}

fn main() {}
// rows: C004 K24
