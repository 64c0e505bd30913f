// wanted: cannot compare `Array<f32>` with `{integer}` in a `#[jit]` function
use jit::prelude::*;

#[jit]
fn positive(x: Float) -> Mask {
    x > 0
}

fn main() {}
