// wanted: whether a `Result` or `Option` has a value is the same for all lanes
use jit::prelude::*;

struct Negative;

#[jit]
fn root(x: &Float) -> Result<Float, Negative> {
    if x < 0.0 {
        return Err(Negative);
    }
    Ok(x.sqrt())
}

fn main() {}
