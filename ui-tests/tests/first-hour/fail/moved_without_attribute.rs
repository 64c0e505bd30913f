// wanted: use of moved value: `x`
use jit::prelude::*;

fn square(x: Float) -> Float {
    x * x
}

fn main() {}
