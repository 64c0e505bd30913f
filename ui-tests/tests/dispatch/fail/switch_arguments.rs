// wanted: expected a tuple with 1 element, found one with 2 elements
use jit::prelude::*;

fn double(x: Float) -> Float {
    &x + &x
}

fn call(index: &UInt, x: Float) -> Float {
    jit::switch(index, &[double, double], (x.clone(), x))
}

fn main() {}
