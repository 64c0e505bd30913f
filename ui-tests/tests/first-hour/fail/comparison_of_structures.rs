// wanted: Write `x.gt(0.0)`, `x.le(&y)`, `x.eq(&y)`, …, or mark the function `#[jit]`
use jit::prelude::*;

#[derive(PartialEq)]
struct Ray {
    length: Float,
}

fn in_a_list(x: Vec<Float>, y: Vec<Float>) -> bool {
    x == y
}

fn in_an_assertion(x: Float, y: Float) {
    assert!(x == y);
    assert_eq!(x, y);
}

fn main() {}
