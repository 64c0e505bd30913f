// wanted: for state that is a type of yours use `#[derive(Traverse)]`
use jit::prelude::*;

#[jit]
struct State {
    x: f32,
}

fn main() {}
