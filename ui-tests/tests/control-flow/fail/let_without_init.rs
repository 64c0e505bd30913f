// wanted: used binding `y`
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
