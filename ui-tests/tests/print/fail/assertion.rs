// wanted: `f32` cannot be asserted: `assert!` takes a `bool` or a `Mask`
use jit::prelude::*;

#[derive(Debug)]
enum Color {
    Red,
}

#[jit]
fn check(x: Float, n: f32, color: Color) -> Float {
    assert!(n);
    assert!(x > 0.0, "{:?}", color);
    assert_eq!(x, color);
    x
}

fn main() {}
// rows: K38
