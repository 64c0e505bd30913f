// wanted: `#[jit]` functions cannot be `async`
use jit::prelude::*;

#[jit]
async fn later(x: Float) -> Float {
    x
}

fn main() {}
// rows: K36
