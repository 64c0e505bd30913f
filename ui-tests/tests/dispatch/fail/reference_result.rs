// wanted: a dispatched method returns values, not references
use jit::prelude::*;

#[jit(dispatch)]
trait Shape {
    fn size(&self) -> &Float;
}

fn main() {}
