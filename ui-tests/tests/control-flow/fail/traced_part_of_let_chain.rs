// wanted: a pattern test is decided on the host; nest `if` for the traced part
use jit::prelude::*;

#[jit]
fn scaled(factor: Option<f32>, x: Float) -> Float {
    if let Some(factor) = factor && x > 0.0 { x * factor } else { x }
}

fn main() {}
// rows: K4
