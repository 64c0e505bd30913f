// wanted: this prints once, while tracing, regardless of the condition in each lane
#![deny(deprecated)]
use jit::prelude::*;

#[freeze]
fn loss(x: &Float) -> Float {
    let loss = (x * x).sum();
    if loss < 0.1 {
        println!("done");
    }
    loss
}

#[jit]
fn halved(mut x: Float) -> Float {
    while x > 1.0 {
        x *= 0.5;
        std::eprintln!("{x}");
    }
    x
}

fn main() {}
