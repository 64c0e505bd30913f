// wanted: an array of `f32` does not become an array of `i32` by itself
use jit::prelude::*;

fn smaller(n: &Int, x: &Float) -> Int {
    n.min(x)
}

fn main() {}
