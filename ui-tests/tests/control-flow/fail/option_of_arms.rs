// wanted: mismatched types
use jit::prelude::*;

#[jit]
fn maybe(x: Float) -> Option<Float> {
    if x > 0.0 { Some(x) } else { x }
}

fn main() {}
