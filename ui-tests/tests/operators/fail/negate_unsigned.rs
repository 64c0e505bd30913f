// wanted: cannot apply unary operator `-` to type `Array<u32>`
use jit::prelude::*;

#[jit]
fn negated(x: UInt) -> UInt {
    -x
}

fn main() {}
