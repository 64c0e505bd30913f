// wanted: sin
use jit::prelude::*;

fn wave(x: Int) -> Int {
    x.sin()
}

fn main() {}
