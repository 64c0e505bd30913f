// wanted: a traced element has no address; read it into a variable first
use jit::prelude::*;

#[jit]
fn changed(mut table: Float, i: UInt) -> Float {
    table[i].scatter_add(&Float::from(1.0), &UInt::from(0));
    table
}

fn main() {}
