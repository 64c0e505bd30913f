// wanted: Write `x.gt(0.0)`
use jit::prelude::*;

fn main() {
    let mut x = Float::ones(3);
    while x.sum() > 0.1 {
        x = x * 0.5;
    }
}
