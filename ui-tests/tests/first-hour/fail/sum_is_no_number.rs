// wanted: expected `f32`, found `Array<f32>`
use jit::prelude::*;

#[jit]
fn normalized(x: Float) -> Float {
    let total: f32 = x.sum();
    x / total
}

fn main() {}
