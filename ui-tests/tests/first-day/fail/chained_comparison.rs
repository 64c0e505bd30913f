// wanted: split the comparison into two
use jit::prelude::*;

#[jit]
fn inside(x: &Float) -> Float {
    if 0.0 < x < 1.0 { x * 2.0 } else { x * 3.0 }
}

fn main() {}
