// wanted: on a trait write `#[jit(dispatch)]`
use jit::prelude::*;

#[jit]
trait Shape {
    fn size(&self) -> Float;
}

fn main() {}
