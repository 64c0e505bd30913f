// wanted: `&&` and `||` take `bool` or `Mask`, not `Array<f32>`
use jit::prelude::*;

#[jit]
fn choose(x: Float, m: Mask) -> Float {
    if m || x { x + 1.0 } else { x }
}

fn main() {}
// rows: K18
