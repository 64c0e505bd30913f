// wanted: a traced element has no address; read it into a variable first
use jit::prelude::*;

#[jit]
fn set(table: &mut Float, i: UInt) {
    let x = &mut table[i];
    *x += 1.0;
}

fn main() {}
// rows: K28
