// wanted: the `jit` option `dispatch` applies to a trait
use jit::prelude::*;

#[jit(dispatch)]
fn size(x: &Float) -> Float {
    x + 1
}

fn main() {}
