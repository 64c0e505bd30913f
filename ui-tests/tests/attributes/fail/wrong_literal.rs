// wanted: Unexpected literal type
use jit::prelude::*;

#[jit(label = 3)]
fn f(x: Float) -> Float {
    x
}

fn main() {}
