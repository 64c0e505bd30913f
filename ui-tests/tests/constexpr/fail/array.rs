// wanted: a `#[constexpr]` parameter must be known while tracing; `Array<u32>` is not
use jit::prelude::*;

#[jit]
fn power(x: Float, #[constexpr] n: UInt) -> Float {
    x
}

fn main() {}
