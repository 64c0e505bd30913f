// wanted: binary operation `==` cannot be applied to type `Array<f32>`
use jit::prelude::*;

fn same(x: &Float, y: &Float) -> bool {
    *x == *y
}

fn main() {}
