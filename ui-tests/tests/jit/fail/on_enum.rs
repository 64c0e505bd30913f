// wanted: `#[jit]` applies to a function
use jit::prelude::*;

#[jit]
enum Kind {
    A,
}

fn main() {}
