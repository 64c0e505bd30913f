// wanted: for a state type of your own use `#[derive(Traverse)]`
use jit::prelude::*;

#[jit]
struct State {
    x: f32,
}

fn main() {}
