// wanted: the type `[Array<f32>]` cannot be indexed by `Array<u32>`
use jit::prelude::*;

#[jit]
fn pick(tables: &[Float], i: UInt) -> Float {
    tables[i]
}

fn main() {}
