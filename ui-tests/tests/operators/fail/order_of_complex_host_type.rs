// wanted: in a `#[jit]` function
use jit::prelude::*;

struct Token;

#[jit]
fn less(a: Token, b: Token) -> bool {
    a < b
}

fn main() {}
