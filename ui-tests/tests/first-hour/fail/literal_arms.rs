// wanted: expected `Array<f32>`, found floating-point number
use jit::prelude::*;

#[jit]
fn step(x: Float) -> Float {
    if x > 0.0 { 1.0 } else { 0.0 }
}

fn main() {}
