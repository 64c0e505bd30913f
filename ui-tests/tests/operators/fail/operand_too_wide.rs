// wanted: an array of `f32` is not converted to an array of `i32` implicitly
use jit::prelude::*;

fn smaller(n: &Int, x: &Float) -> Int {
    n.min(x)
}

fn main() {}
