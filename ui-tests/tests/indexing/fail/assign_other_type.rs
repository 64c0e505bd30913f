// wanted: cannot be written to `Array<f32>`
use jit::prelude::*;

#[jit]
fn set(table: &mut Float, i: UInt, m: Float64) {
    table[i] = m;
}

fn main() {}
// rows: K26
