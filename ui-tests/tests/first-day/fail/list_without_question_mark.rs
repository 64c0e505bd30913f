// wanted: expected `Vec<f32>`, found `Result<Vec<f32>, Error>`
use jit::prelude::*;

fn main() {
    let x = Float::zeros(3);
    let _: Vec<f32> = x.to_vec();
}
