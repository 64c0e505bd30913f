// wanted: the `jit` option `label` takes a string
use jit::prelude::*;

#[jit(label = 3)]
fn f(x: Float) -> Float {
    x
}

fn main() {}
