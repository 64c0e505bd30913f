// wanted: a dispatched trait has methods only
use jit::prelude::*;

#[jit(dispatch)]
trait Shape {
    type Point;
    fn size(&self) -> Float;
}

fn main() {}
