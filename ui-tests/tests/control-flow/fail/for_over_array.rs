// wanted: `Array<f32>` is not an iterator
use jit::prelude::*;

#[jit]
fn total(x: Float) -> Float {
    let mut sum = Float::from(0.0);
    for lane in x {
        sum += lane;
    }
    sum
}

fn main() {}
// rows: K8
