// wanted: consider changing this to be mutable
use jit::prelude::*;

#[jit]
fn halve(x: Float) -> Float {
    while x > 1.0 {
        x *= 0.5;
    }
    x
}

fn main() {}
