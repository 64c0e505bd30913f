// wanted: this `if` has a value in one arm only; add an `else`
use jit::prelude::*;

#[jit]
fn limited(x: Float) -> Float {
    if x > 1.0 { x * 0.5 } else if x < 0.0 { x * 2.0 }
}

fn main() {}
