// wanted: `Array<f32>` is indexed by arrays of integers and by integers, not by `Array<f32>`
use jit::prelude::*;

#[jit]
fn at(table: &Float, x: Float) -> Float {
    table[x]
}

fn main() {}
// rows: K25
