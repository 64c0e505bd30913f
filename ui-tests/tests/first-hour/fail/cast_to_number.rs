// wanted: expected `f64`, found `Array<f64>`
use jit::prelude::*;

#[jit]
fn precise(x: Float) -> f64 {
    x as f64
}

fn main() {}
