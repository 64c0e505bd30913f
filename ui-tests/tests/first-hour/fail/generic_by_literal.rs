// wanted: write `T::from_f64(2.0)`
use jit::prelude::*;

fn twice<T: jit::FloatElement>(x: Array<T>) -> Array<T> {
    x * 2.0
}

#[jit]
fn soft<T: jit::FloatElement>(x: Array<T>) -> Array<T> {
    if x > 0.5 { x * 0.5 } else { 1.0 - x }
}

fn main() {}
