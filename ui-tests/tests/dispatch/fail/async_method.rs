// wanted: a dispatched method cannot be `async`
use jit::prelude::*;

#[jit(dispatch)]
trait Shape {
    async fn size(&self) -> Float;
}

fn main() {}
