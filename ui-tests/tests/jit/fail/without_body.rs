// wanted: a `#[jit]` function needs a body
use jit::prelude::*;

trait Shape {
    #[jit]
    fn distance(&self, x: Float) -> Float;
}

fn main() {}
