// wanted: cannot add `Option<Array<f32>>` to `Array<f32>`
use jit::prelude::*;

#[jit]
fn biased(x: Float, bias: Option<Float>) -> Float {
    x + bias
}

fn main() {}
