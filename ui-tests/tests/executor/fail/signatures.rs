// wanted: a function that returns a reference cannot be compiled to an executor
use jit::prelude::*;
use std::rc::Rc;

#[jit]
fn first<'a>(x: &'a Float, _y: &Float) -> &'a Float {
    x
}

#[jit]
fn observed(x: &Float, seen: &mut dyn FnMut()) -> Float {
    seen();
    x + 1.0
}

#[jit]
fn shared(x: Rc<Float>) -> Float {
    &*x + 1.0
}

#[jit]
fn inside(all: Vec<&Float>) -> Float {
    all[0] + 1.0
}

#[jit]
fn optional(x: Option<&Rc<Float>>) -> Float {
    x.map_or(Float::from(0.0), |x| &**x + 1.0)
}

fn main() {
    let x = Float::placeholder(4);
    let _ = first::compile(&x, &x);
    let _ = observed::compile(&x, &mut || {});
    let _ = inside::compile(vec![&x]);
    let _ = optional::compile(None);
    let _ = shared::compile(Rc::new(x));
}
