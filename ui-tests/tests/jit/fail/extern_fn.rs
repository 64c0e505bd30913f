// wanted: `#[jit]` functions cannot be `extern`: tracing runs their code on the host, once
use jit::prelude::*;

#[jit]
extern "C" fn doubled(x: f32) -> f32 {
    x * 2.0
}

fn main() {}
// rows: K36
