// wanted: `#[symbolic]` on a statement is not supported yet
use jit::prelude::*;

#[jit]
fn sum(x: Float) -> Float {
    let mut y = x;
    #[symbolic]
    for _ in 0..1000 {
        y += 1.0;
    }
    y
}

fn main() {}
