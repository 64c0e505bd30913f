// wanted: cannot multiply `&Array<f32>` by `f64`
use jit::prelude::*;

fn scale(x: &Float, k: f64) -> Float {
    x * k
}

fn main() {}
