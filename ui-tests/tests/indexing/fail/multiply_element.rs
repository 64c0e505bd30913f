// wanted: `*=` on a device array has no atomic form; use separate gather and scatter, or `scatter_cas`
use jit::prelude::*;

#[jit]
fn scale(table: &mut Float, i: UInt) {
    table[i] *= 2.0;
}

fn main() {}
// rows: K27
