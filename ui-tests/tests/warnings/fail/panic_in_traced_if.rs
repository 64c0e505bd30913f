// wanted: this code runs once, while tracing, regardless of the condition in each lane, and always panics
#![deny(deprecated)]
use jit::prelude::*;

#[jit]
fn root(x: Float) -> Float {
    if x < 0.0 {
        panic!("negative");
    }
    x.sqrt()
}

#[jit]
fn name(n: UInt) -> UInt {
    match n {
        0 => n + 1,
        1 => n * 2,
        _ => panic!("two values"),
    }
}

fn main() {}
// rows: K39
