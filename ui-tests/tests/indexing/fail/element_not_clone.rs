// wanted: `Token` cannot be copied out of a container
use jit::prelude::*;

pub struct Token;

#[jit]
fn first(tokens: &[Token]) -> Token {
    tokens[0]
}

fn main() {}
