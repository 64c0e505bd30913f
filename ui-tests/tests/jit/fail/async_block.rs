// wanted: `async` blocks cannot appear in a `#[jit]` function: tracing cannot suspend
use jit::prelude::*;

#[jit]
fn later(x: Float) -> Float {
    let _ = async { 1 };
    x
}

fn main() {}
