// wanted: `if` with a traced condition yields `Thing`
use jit::prelude::*;

struct Thing;

#[jit]
fn choose(x: Float) -> Thing {
    if x > 0.0 { Thing } else { Thing }
}

fn main() {}
// rows: K2
