// wanted: cannot be an argument or the result of a `#[freeze]` function, as it is not `Send` and `Sync`
use jit::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

#[derive(Clone, Traverse)]
struct Model {
    weights: Rc<Float>,
}

#[derive(Clone, Traverse)]
struct Cache {
    last: RefCell<Float>,
}

#[freeze]
fn predict(model: &Model, x: &Float) -> Float {
    &*model.weights * x
}

#[freeze]
fn train(model: &mut Model, x: Float) {
    model.weights = Rc::new(x);
}

#[freeze]
fn make(x: &Float) -> Model {
    Model { weights: Rc::new(x.clone()) }
}

#[freeze]
fn remember(cache: &Cache, x: &Float) -> Float {
    &*cache.last.borrow() + x
}

fn main() {}
