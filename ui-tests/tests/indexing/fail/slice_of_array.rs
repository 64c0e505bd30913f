// wanted: a traced element has no address; read it into a variable first
use jit::prelude::*;

#[jit]
fn head(table: &Float) -> Float {
    let part = &table[0..3];
    part + 1.0
}

fn main() {}
// rows: K28
