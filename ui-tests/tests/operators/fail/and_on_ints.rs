// wanted: `&&` and `||` take `bool` or `Mask`, not `Array<i32>`
use jit::prelude::*;

#[jit]
fn both(x: Float, n: Int) -> Mask {
    x < 1.0 && n
}

fn main() {}
