// wanted: the `jit` option `label` appears twice
use jit::prelude::*;

#[jit(label = "f", label = "g")]
fn f(x: Float) -> Float {
    x
}

fn main() {}
