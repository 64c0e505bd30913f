// wanted: `|=` cannot combine
use jit::prelude::*;

#[jit]
fn set(table: &mut Float, i: UInt) {
    table[i] |= 1.0;
}

fn main() {}
