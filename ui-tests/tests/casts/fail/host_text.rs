// wanted: non-primitive cast: `State` as `u32`
use jit::prelude::*;

struct State;

#[jit]
fn cast(state: State) -> u32 {
    let _ = state;
    let other = State;
    other as u32
}

fn main() {}
