// wanted: a traced `match` needs a final `_` arm
use jit::prelude::*;

#[jit]
fn class(n: UInt, m: UInt) -> UInt {
    match (n, m) {
        (0, 0) => UInt::from(1),
        (0, 1) => UInt::from(2),
    }
}

fn main() {}
