// wanted: `Array<i32>` is not a condition: `if` takes a `bool` or a `Mask`
use jit::prelude::*;

/// All that is wrong in a function is said at once.
#[jit]
fn wrong(x: Float, n: Int, name: &str) -> Float {
    let mut y = x;
    if n {
        y += 1.0;
    }
    while y == name {
        y -= 1.0;
    }
    if y > 0.0 && n {
        y = n;
    }
    y
}

fn main() {}
