// wanted: `#[symbolic]` records the statement and `#[evaluated]` runs it: remove one of the two

use jit::prelude::*;

#[jit]
fn modes(x: Float) -> Float {
    let mut x = x;
    #[symbolic]
    #[evaluated]
    while x < 1.0 {
        x *= 2.0;
    }
    #[compress]
    while x < 2.0 {
        x *= 2.0;
    }
    #[max_iterations(0)]
    while x < 3.0 {
        x *= 2.0;
    }
    #[evaluated(always)]
    while x < 4.0 {
        x *= 2.0;
    }
    #[host]
    #[evaluated]
    while x.len() < 4 {
        x = x.tile(2);
    }
    #[evaluated]
    #[max_iterations(3)]
    if x < 5.0 {
        x *= 2.0;
    }
    #[symbolic]
    x += 1.0;
    x
}

fn main() {
    modes(Float::from([0.5]));
}
