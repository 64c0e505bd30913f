// wanted: `#[freeze]` functions cannot be `async`: recording cannot be suspended
use jit::prelude::*;

#[freeze]
async fn later(x: &Float) -> Float {
    x + 1.0
}

#[freeze]
const fn fixed(x: &Float) -> Float {
    x.clone()
}

#[freeze]
unsafe fn promised(x: &Float) -> Float {
    x + 1.0
}

#[freeze]
extern "C" fn foreign(x: &Float) -> Float {
    x + 1.0
}

#[freeze]
fn hidden(x: &Float) -> impl Clone {
    x + 1.0
}

#[freeze]
fn borrowed(x: &Float) -> &Float {
    x
}

#[freeze]
#[freeze]
fn twice(x: &Float) -> Float {
    x + 1.0
}

#[freeze]
fn perhaps(x: &Float, bias: Option<&mut Float>) -> Float {
    bias.map_or(x.clone(), |bias| x + &*bias)
}

#[freeze]
fn gathered<'a>(all: &mut Vec<&'a Float>, names: &[&str], word: (&'static str, Float)) {
    all.clear();
}

fn main() {
    twice(&fixed(&Float::from(1.0)));
    println!("{:?}", (twice::stats(), fixed::stats()));
}
