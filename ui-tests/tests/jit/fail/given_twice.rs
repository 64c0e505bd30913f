// wanted: `#[jit]` appears twice
use jit::prelude::*;

#[jit]
#[jit]
fn double(x: Float) -> Float {
    x * 2.0
}

fn main() {}
