// wanted: `#[jit]` does not rewrite the arguments of this macro, and Rust's own comparisons do not compare arrays
#![deny(deprecated)]
use jit::prelude::*;

macro_rules! either {
    ($condition:expr, $value:expr) => {
        if $condition { $value } else { -$value }
    };
}

#[jit]
fn distance(x: Float) -> Float {
    either!(x > 0.0, x)
}

fn main() {}
// rows: K42
