// wanted: a traced element has no address; read it into a variable first
use jit::prelude::*;

#[jit]
fn root(table: Float, i: UInt) -> Float {
    table[i].sqrt()
}

fn main() {}
