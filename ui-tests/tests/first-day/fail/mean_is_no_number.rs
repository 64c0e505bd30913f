// wanted: expected `f32`, found `Array<f32>`
use jit::prelude::*;

fn main() {
    let x = Float::zeros(3);
    let _: f32 = x.mean();
}
