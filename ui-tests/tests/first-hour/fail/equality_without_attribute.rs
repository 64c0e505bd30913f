// wanted: Write `x.gt(0.0)`, `x.le(&y)`, `x.eq(&y)`, …, or mark the function `#[jit]`
use jit::prelude::*;

fn same(x: &Float, y: &Float) -> bool {
    *x == *y
}

fn main() {}
