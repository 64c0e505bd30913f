// wanted: a `#[host]` method of a dispatched trait takes `&self` or `&mut self`
use jit::prelude::*;

#[jit(dispatch)]
trait Shape {
    #[host]
    fn unit() -> u32;

    #[host]
    fn take(self);

    fn area(&self) -> Float;
}

fn main() {}
