// wanted: cannot compare `Array<f32>` with `Array<i32>` in a `#[jit]` function
use jit::prelude::*;

#[jit]
fn less(x: Float, n: Int) -> Mask {
    x < n
}

fn main() {}
