// wanted: a dispatched method takes `&self`; without it, write a function
use jit::prelude::*;

#[jit(dispatch)]
trait Shape {
    fn unit() -> Float;
    fn into_size(self) -> Float;
    fn part(&self, of: impl Fn(Float) -> Float) -> Float;
}

fn main() {}
