// wanted: `Once` cannot be an argument or the result of a `#[freeze]` function
use jit::prelude::*;

#[derive(Traverse)]
struct Once {
    x: Float,
}

#[derive(Clone)]
struct Plain {
    n: u32,
}

#[freeze]
fn changed(once: &mut Once) {
    once.x += 1.0;
}

#[freeze]
fn looked_at(once: &Once) -> Float {
    &once.x + 1.0
}

#[freeze]
fn plain(plain: Plain, x: &Float) -> Float {
    x + plain.n
}

#[freeze]
fn function(x: &Float, f: &fn(&Float) -> Float) -> Float {
    f(x)
}

#[freeze]
fn unnamed(x: &Float, f: impl Fn(&Float) -> Float) -> Float {
    f(x)
}

#[derive(Traverse)]
struct View<'a> {
    x: &'a mut Float,
}

#[freeze]
fn view(view: View<'_>) {
    *view.x += 1.0;
}

#[freeze]
fn list(all: &mut Vec<Once>) {
    all.clear();
}

#[jit(dispatch)]
trait Shape: Traverse {
    fn area(&self, scale: &Float) -> Float;
}

#[freeze]
fn instances(shapes: &jit::Instances<dyn Shape>, ids: &UInt, scale: &Float) -> Float {
    shapes.at(ids).area(scale)
}

#[freeze]
fn lists(all: &[Once]) -> Float {
    all[0].x.clone()
}

fn main() {}
