// wanted: cannot multiply `Array<f32>` by `f64`
use jit::prelude::*;

#[jit]
fn radians(degrees: Float) -> Float {
    degrees * std::f64::consts::PI / 180.0
}

fn main() {}
