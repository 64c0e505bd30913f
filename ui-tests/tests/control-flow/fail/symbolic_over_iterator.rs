// wanted: only integer ranges can be traced
use jit::prelude::*;

#[jit]
fn sum(x: Float, factors: &[f32]) -> Float {
    let mut y = x;
    #[symbolic]
    for factor in factors {
        y *= *factor;
    }
    y
}

fn main() {}
// rows: K8
