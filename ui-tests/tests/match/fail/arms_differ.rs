// wanted: mismatched types
use jit::prelude::*;

#[jit]
fn class(n: UInt, x: Float, k: Int) -> Float {
    match n {
        0 => x,
        _ => k,
    }
}

fn main() {}
