// wanted: cannot be called with the arguments
use jit::prelude::*;

fn double(x: Float) -> Float {
    &x + &x
}

fn call(index: &UInt, x: Float) -> Float {
    jit::switch(index, &[double, double], (x.clone(), x))
}

fn main() {}
