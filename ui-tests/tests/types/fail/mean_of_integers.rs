// wanted: mean
use jit::prelude::*;

fn middle(x: Int) -> Int {
    x.mean()
}

fn main() {}
