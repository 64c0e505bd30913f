// wanted: this operation is for arrays of integers, and `f32` is not an integer type
use jit::prelude::*;

fn at(table: &Float, i: &Float) -> Float {
    table.gather(i)
}

fn main() {}
