// wanted: `#[jit]` goes on a function
use jit::prelude::*;

#[jit]
struct State {
    x: f32,
}

fn main() {}
