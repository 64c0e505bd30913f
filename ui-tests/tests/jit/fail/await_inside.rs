// wanted: `.await` cannot appear in a `#[jit]` function
use jit::prelude::*;

#[jit]
fn waits(x: Float, y: std::future::Ready<Float>) -> Float {
    x + y.await
}

fn main() {}
// rows: K43
