// wanted: `y` must have a value before a traced `if` assigns it
use jit::prelude::*;

#[jit]
fn unset(x: Float) -> Float {
    let y;
    if x < 0.0 {
        y = x * 2.0;
    }
    y
}

fn main() {}
// rows: K29
