// wanted: a `#[traverse(constexpr)]` field must be known while tracing; `Array<u32>` is not
use jit::prelude::*;

#[derive(Traverse)]
struct Sampler {
    state: UInt,
    #[traverse(constexpr)]
    dimension: UInt,
}

fn main() {}
