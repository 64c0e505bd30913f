// wanted: `Token` cannot be an argument of a dispatched method
use jit::prelude::*;

pub struct Token;

#[jit(dispatch)]
pub trait Shape {
    fn spend(&self, token: Token) -> Float;
}

fn main() {}
