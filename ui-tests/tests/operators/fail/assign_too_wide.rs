// wanted: an array of `f32` is not converted to an array of `i32` implicitly
use jit::prelude::*;

#[jit]
fn add(n: &Int, x: &Float) -> Int {
    let mut n = n.clone();
    n += x;
    n
}

fn main() {}
