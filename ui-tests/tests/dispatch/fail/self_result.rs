// wanted: the result of a dispatched method cannot be `Self`
use jit::prelude::*;

#[jit(dispatch)]
trait Shape {
    fn doubled(&self) -> Self;
}

fn main() {}
