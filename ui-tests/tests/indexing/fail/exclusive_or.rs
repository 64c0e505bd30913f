// wanted: `^=` on a device array has no atomic form; use separate gather and scatter, or `scatter_cas`
use jit::prelude::*;

#[jit]
fn toggle(bits: &mut UInt, i: UInt) {
    bits[i] ^= 1;
}

fn main() {}
