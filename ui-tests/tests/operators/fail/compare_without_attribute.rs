// wanted: binary operation `<` cannot be applied to type `Array<f32>`
use jit::prelude::*;

fn positive(x: Float) -> Mask {
    x < 0.0
}

fn main() {}
