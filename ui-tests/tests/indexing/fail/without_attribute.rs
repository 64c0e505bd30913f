// wanted: a traced element has no address; read it into a variable first
use jit::prelude::*;

fn first(table: Float, i: UInt) {
    let _ = &table[i];
}

fn main() {}
