// wanted: `continue` inside an `if` on a traced value
use jit::prelude::*;

#[jit]
fn skip(x: Float) -> Float {
    let mut y = x;
    'outer: for _ in 0..8 {
        for _ in 0..2 {
            if y > 100.0 {
                continue 'outer;
            }
            y = y * 2.0;
        }
    }
    y
}

fn main() {}
