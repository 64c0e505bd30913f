// wanted: a dispatched method takes `&self`: an instance is shared by all lanes
use jit::prelude::*;

#[jit(dispatch)]
trait Shape {
    fn grow(&mut self, by: Float);
}

fn main() {}
