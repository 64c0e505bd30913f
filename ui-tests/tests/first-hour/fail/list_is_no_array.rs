// wanted: expected `Array<f32>`, found `Vec<{float}>`
use jit::prelude::*;

fn table() -> Float {
    let table: Float = vec![1.0, 2.0];
    table
}

fn main() {}
