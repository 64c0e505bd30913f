// wanted: Write `x.gt(0.0)`, `x.le(&y)`, `x.eq(&y)`, …, or mark the function `#[jit]`
use jit::prelude::*;

#[jit]
fn same(x: Float) -> Mask {
    x == "one"
}

fn main() {}
