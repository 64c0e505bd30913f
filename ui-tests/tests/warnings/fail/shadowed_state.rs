// wanted: this is a new variable, which is unused, and the outer one does not change
#![deny(deprecated)]
#![allow(unused_variables, unused_mut)]
use jit::prelude::*;

#[jit]
fn halve(x: Float, n: UInt) -> Float {
    let mut x = x;
    for _ in 0..n {
        let x = x * 0.5;
    }
    x
}

fn main() {}
// rows: K30
