// wanted: unknown `jit` option `labl`; did you mean `label`?
use jit::prelude::*;

#[jit(labl = "f")]
fn f(x: Float) -> Float {
    x
}

fn main() {}
// rows: K170
