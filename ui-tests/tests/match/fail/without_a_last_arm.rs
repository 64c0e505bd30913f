// wanted: a traced `match` needs a final `_` arm
use jit::prelude::*;

#[jit]
fn class(n: UInt, x: Float) -> Float {
    match n {
        0 => x,
        1..=7 => x + 1.0,
    }
}

fn main() {}
// rows: K15
