// wanted: cannot be cast to `usize` by `as`
use jit::prelude::*;

#[jit]
fn cast(x: Float) -> usize {
    let n = x as Size32;
    n.len()
}

type Size32 = usize;

fn main() {}
// rows: K34
