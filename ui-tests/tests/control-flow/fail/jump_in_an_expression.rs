// wanted: a `break`, `continue` or `return` under a traced condition is inside of an expression
use jit::prelude::*;

#[jit]
fn search(x: Float) -> Float {
    let mut y = x;
    while y < 100.0 {
        y = y.max(&if y > 50.0 { break } else { y * 2.0 });
    }
    y
}

fn main() {}
