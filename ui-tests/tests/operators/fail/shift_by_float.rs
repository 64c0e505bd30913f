// wanted: this operation is for arrays of integers, and `f32` is not an integer type
use jit::prelude::*;

#[jit]
fn shifted(x: UInt, y: Float) -> UInt {
    x << y
}

fn main() {}
