// wanted: arrays of `bool` have no arithmetic
use jit::prelude::*;

fn sum(a: &Mask, b: &Mask) {
    let _ = a + b;
}

fn main() {}
