// wanted: used binding `y`
use jit::prelude::*;

#[jit]
fn positive(x: &Float) -> Float {
    let mut y;
    while x > 1.0 {
        y = x * 2.0;
        break;
    }
    y
}

fn main() {}
