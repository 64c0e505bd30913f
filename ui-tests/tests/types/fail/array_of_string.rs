// wanted: `String` is not an element type of arrays
use jit::prelude::*;

fn names() -> Array<String> {
    Array::from(String::new())
}

fn main() {}
