// wanted: a dispatched method gives values, not references
use jit::prelude::*;

#[jit(dispatch)]
trait Shape {
    fn size(&self) -> &Float;
}

fn main() {}
