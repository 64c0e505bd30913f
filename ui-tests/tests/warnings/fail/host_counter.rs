// wanted: this is a host number, the same for all lanes, that changes under a traced condition
#![deny(deprecated)]
use jit::prelude::*;

#[jit]
fn iterations(x: Float) -> u32 {
    let mut x = x;
    let mut n = 0;
    while x > 1.0 {
        x *= 0.5;
        n += 1;
    }
    n
}

#[jit]
fn positive(x: &Float) -> f32 {
    let mut sum = 0.0;
    if x > 0.0 {
        sum += 1.0;
    }
    sum
}

fn main() {}
// rows: K33
