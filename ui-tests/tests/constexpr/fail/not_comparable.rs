// wanted: a `#[constexpr]` parameter must be known while tracing; `Settings` is not
use jit::prelude::*;

struct Settings {
    order: u32,
    weights: Float,
}

#[jit]
fn power(x: Float, #[constexpr] settings: Settings) -> Float {
    x * settings.weights * settings.order as f32
}

fn main() {}
