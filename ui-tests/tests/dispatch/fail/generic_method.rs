// wanted: a dispatched method cannot be generic
use jit::prelude::*;

#[jit(dispatch)]
trait Shape {
    fn scale<T>(&self, by: T) -> Float;
}

fn main() {}
