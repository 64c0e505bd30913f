// wanted: `return` inside an `if` on a traced value
use jit::prelude::*;

#[jit]
fn early(x: Float, n: usize) -> Float {
    let mut y = x.clone();
    for _ in 0..n {
        if y < 0.0 {
            return x;
        }
        y -= 1.0;
    }
    y
}

fn main() {}
