// wanted: a dispatched method cannot give `ThreadId`
use jit::prelude::*;

#[jit(dispatch)]
trait Shape {
    fn owner(&self) -> std::thread::ThreadId;
}

fn main() {}
