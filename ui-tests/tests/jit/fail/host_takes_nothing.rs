// wanted: `#[host]` takes no arguments
use jit::prelude::*;

#[jit]
fn plain(a: f32) -> f32 {
    #[host(true)]
    let b = a + 1.0;
    b
}

fn main() {}
