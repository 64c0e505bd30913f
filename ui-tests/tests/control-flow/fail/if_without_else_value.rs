// wanted: this `if` has a value in one arm only
use jit::prelude::*;

#[jit]
fn half(x: Float) -> Float {
    let y = if x < 0.0 { x * 2.0 };
    x
}

fn main() {}
