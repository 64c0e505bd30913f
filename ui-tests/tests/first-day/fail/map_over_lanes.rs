// wanted: `Array<f32>` is not an iterator
use jit::prelude::*;

fn main() {
    let x = Float::zeros(3);
    let _ = x.map(|v| v * 2.0);
}
