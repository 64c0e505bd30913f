// wanted: `break` inside an `if` on a traced value
use jit::prelude::*;

#[jit]
fn search(x: Float) -> Float {
    let mut y = x;
    for _ in 0..8 {
        if y > 100.0 {
            break;
        }
        y = y * 2.0;
    }
    y
}

fn main() {}
