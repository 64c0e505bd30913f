// wanted: Write `x.gt(0.0)`, `x.le(&y)`, `x.eq(&y)`, …, or mark the function `#[jit]`
use jit::prelude::*;

fn positive(x: Float) -> Mask {
    x < 0.0
}

fn main() {}
