// wanted: expected `bool`, found `Array<bool>`
use jit::prelude::*;

fn inside(x: Float) -> Mask {
    x.gt(0.0) && x.lt(1.0)
}

fn main() {}
