// wanted: cannot index into a value of type
use jit::prelude::*;

#[jit]
fn at(x: f32, state: State) -> f32 {
    x + state.scale[0]
}

struct State {
    scale: f32,
}

fn main() {}
// rows: K25
