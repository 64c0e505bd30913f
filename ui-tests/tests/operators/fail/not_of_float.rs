// wanted: cannot apply unary operator `!` to type `Array<f32>`
use jit::prelude::*;

#[jit]
fn inverted(x: Float) -> Float {
    !x
}

fn main() {}
