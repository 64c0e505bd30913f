// wanted: `#[traced]` goes on a `match` whose arm is chosen in each lane
use jit::prelude::*;

#[jit]
fn size(x: Float) -> Float {
    #[traced]
    let y = x * 2.0;
    #[traced]
    if y > 1.0 {
        return y;
    }
    #[traced(now)]
    match x {
        z => z,
    }
}

fn main() {}
