// wanted: use of moved value: `x`
use jit::prelude::*;

fn take(_: Float) -> Float {
    Float::from(1.0)
}

#[jit]
fn twice(x: Float) -> Float {
    let y = take(x);
    take(x) + y
}

fn main() {}
