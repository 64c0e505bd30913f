// wanted: mismatched types
use jit::prelude::*;

#[jit]
fn differ(x: Float, n: Int) -> Float {
    if x < 0.0 { x } else { n }
}

fn main() {}
