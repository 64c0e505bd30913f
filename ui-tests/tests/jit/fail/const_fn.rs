// wanted: `#[jit]` functions cannot be `const`
use jit::prelude::*;

#[jit]
const fn fixed(x: f32) -> f32 {
    x + 1.0
}

fn main() {}
// rows: K36
