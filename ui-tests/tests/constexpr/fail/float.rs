// wanted: a `#[constexpr]` parameter must be known while tracing; `f32` is not
use jit::prelude::*;

#[jit]
fn scale(x: Float, #[constexpr] factor: f32) -> Float {
    x * factor
}

fn main() {}
