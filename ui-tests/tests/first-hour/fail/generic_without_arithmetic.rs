// wanted: consider further restricting type parameter `T` with trait `Number`
use jit::prelude::*;

#[jit]
fn twice<T: jit::Element>(x: Array<T>) -> Array<T> {
    x + x
}

fn main() {}
