// wanted: the `jit` option `label` is given twice
use jit::prelude::*;

#[jit(label = "f", label = "g")]
fn f(x: Float) -> Float {
    x
}

fn main() {}
