// wanted: cannot compare `Array<f32>` with `f64` in a `#[jit]` function
use jit::prelude::*;

#[jit]
fn limited(x: Float, limit: f64) -> Float {
    if x > limit { x } else { x * 2.0 }
}

fn main() {}
