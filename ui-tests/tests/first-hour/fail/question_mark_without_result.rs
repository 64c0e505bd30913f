// wanted: this function should return `Result` or `Option` to accept `?`
use jit::prelude::*;

#[jit]
fn scaled(x: Float) -> Float {
    let first = x.get(0)?;
    x * first
}

fn main() {}
