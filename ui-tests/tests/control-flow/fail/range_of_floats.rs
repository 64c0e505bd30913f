// wanted: `for` cannot count from `Array<f32>` to `Array<f32>`
use jit::prelude::*;

#[jit]
fn sum(from: Float, to: Float) -> Float {
    let mut y = from.zeros_like();
    for x in from..to {
        y += x;
    }
    y
}

fn main() {}
