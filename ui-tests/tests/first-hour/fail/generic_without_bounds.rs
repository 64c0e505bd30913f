// wanted: `T` is not an element type of arrays
use jit::prelude::*;

#[jit]
fn smaller<T>(x: Array<T>, y: Array<T>) -> Array<T> {
    if x < y { x } else { y }
}

fn main() {}
