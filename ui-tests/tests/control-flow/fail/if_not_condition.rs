// wanted: `Array<i32>` is not a condition: `if` takes a `bool` or a `Mask`
use jit::prelude::*;

#[jit]
fn choose(n: Int, x: Float) -> Float {
    if n { x + 1.0 } else { x }
}

fn main() {}
