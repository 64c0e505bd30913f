// wanted: expected `bool`, found `Array<bool>`
use jit::prelude::*;

#[jit]
fn positive(x: Float) -> bool {
    x > 0.0
}

fn main() {}
