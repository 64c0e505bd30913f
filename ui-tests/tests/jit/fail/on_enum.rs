// wanted: `#[jit]` goes on a function
use jit::prelude::*;

#[jit]
enum Kind {
    A,
}

fn main() {}
