// wanted: `#[traced]` applies to a `match` whose arm is selected in each lane
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
