// wanted: mismatched types
use jit::prelude::*;

#[jit]
fn class(n: UInt) -> Float {
    match n {
        0.5 => Float::from(0.0),
        _ => Float::from(1.0),
    }
}

fn main() {}
