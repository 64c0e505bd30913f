// wanted: `#[label("…")]` takes one string
use jit::prelude::*;

#[jit]
fn named(x: Float) -> Float {
    #[label(3)]
    let y = x + 1.0;
    y
}

fn main() {}
