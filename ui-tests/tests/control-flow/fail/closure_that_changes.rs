// wanted: cannot be the state of a traced `if` or `while`
use jit::prelude::*;

#[jit]
fn doublings(x: Float) -> Float {
    let mut count = Float::from(0.0);
    let mut double = |y: Float| {
        count += 1.0;
        y * 2.0
    };
    let mut y = x;
    while y < 10.0 {
        y = double(y);
    }
    y + count
}

#[jit]
fn with(x: Float, advance: &mut dyn FnMut()) -> Float {
    if x > 0.0 {
        advance();
    }
    x
}

fn main() {}
// rows: K35
