// wanted: cannot compare `Array<f32>` with `&str` in a `#[jit]` function
use jit::prelude::*;

#[jit]
fn same(x: Float) -> Mask {
    x == "one"
}

fn main() {}
