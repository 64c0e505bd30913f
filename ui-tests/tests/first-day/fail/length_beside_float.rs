// wanted: cannot divide `Array<f32>` by `usize`
use jit::prelude::*;

fn mean(x: &Float) -> Float {
    x.sum() / x.len()
}

fn main() {}
