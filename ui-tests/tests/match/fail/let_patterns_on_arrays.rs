// wanted: `if let` and `while let` are decided while tracing; `Array<u32>` has no value yet
use jit::prelude::*;

#[jit]
fn count(mut n: UInt) -> UInt {
    if let 1..=3 = n {
        n += 1;
    }
    while let 4 = n {
        n += 1;
    }
    n
}

fn main() {}
