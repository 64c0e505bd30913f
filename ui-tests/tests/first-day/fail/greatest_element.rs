// wanted: argument #1 is missing
use jit::prelude::*;

fn main() {
    let x = Float::zeros(3);
    let _ = x.max();
}
