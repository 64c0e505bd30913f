// wanted: an array of `f32` does not become an array of `i32` by itself
use jit::prelude::*;

#[jit]
fn add(n: &Int, x: &Float) -> Int {
    let mut n = n.clone();
    n += x;
    n
}

fn main() {}
