// wanted: a dispatched method cannot return `ThreadId`
use jit::prelude::*;

#[jit(dispatch)]
trait Shape {
    fn owner(&self) -> std::thread::ThreadId;
}

fn main() {}
