// wanted: Write `x.gt(0.0)`, `x.le(&y)`, `x.eq(&y)`, …, or mark the function `#[jit]`
use jit::linalg::Vec3;
use jit::prelude::*;

fn tensors(x: &Tensor<f32>, y: Vec3<f32>) {
    let _ = x > 0.0;
    let _ = y == y;
}

fn main() {}
