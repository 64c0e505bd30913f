// wanted: an array of `f32` cannot be cast to `bool` by `as`
use jit::prelude::*;

#[jit]
fn cast(x: Float) -> Mask {
    x as bool
}

fn main() {}
