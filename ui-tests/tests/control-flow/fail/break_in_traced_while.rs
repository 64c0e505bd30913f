// wanted: `break` inside a `while` on a traced value
use jit::prelude::*;

#[jit]
fn once(x: Float) -> Float {
    let mut y = x;
    while y < 10.0 {
        y += 1.0;
        break;
    }
    y
}

fn main() {}
