// wanted: a traced element has no address; read it into a variable first
use jit::prelude::*;

#[jit]
fn first(table: Float, i: UInt) -> Float {
    let x = &table[i];
    x + 1.0
}

fn main() {}
// rows: K28
