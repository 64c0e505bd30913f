// wanted: `String` is no element type of arrays
use jit::prelude::*;

fn names() -> Array<String> {
    Array::from(String::new())
}

fn main() {}
