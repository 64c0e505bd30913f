// wanted: expected `Array<f32>`, found `String`
use jit::prelude::*;

#[jit]
fn name(x: Float) -> Float {
    if x > 0.0 { x } else { x.to_string() }
}

fn main() {}
