// wanted: the `jit` option `fast_math` takes `true` or `false`, or no value
use jit::prelude::*;

#[jit(fast_math = "yes")]
fn f(x: Float) -> Float {
    x
}

#[jit(fast_maths)]
fn g(x: Float) -> Float {
    x
}

fn main() {}
