// wanted: `Color` cannot be printed by lanes
use jit::prelude::*;

#[derive(Debug)]
enum Color {
    Red,
}

#[jit]
fn paint(x: Float, color: Color) -> Float {
    jit::print!("{x} {:?}", color);
    x
}

fn main() {}
