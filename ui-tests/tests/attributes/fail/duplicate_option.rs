// wanted: Duplicate field `label`
use jit::prelude::*;

#[jit(label = "f", label = "g")]
fn f(x: Float) -> Float {
    x
}

fn main() {}
