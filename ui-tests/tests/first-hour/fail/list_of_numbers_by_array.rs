// wanted: the type `[f32]` cannot be indexed by `Array<u32>`
use jit::prelude::*;

#[jit]
fn look_up(table: Vec<f32>, i: UInt) -> Float {
    table[i]
}

fn main() {}
