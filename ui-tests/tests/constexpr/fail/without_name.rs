// wanted: a `#[constexpr]` parameter needs a name
use jit::prelude::*;

#[jit]
fn sized(x: Float, #[constexpr] (n, m): (u32, u32)) -> Float {
    x * (n + m) as f32
}

fn main() {}
