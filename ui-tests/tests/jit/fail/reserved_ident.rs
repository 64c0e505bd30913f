// wanted: names that begin with `__jit_` are reserved
use jit::prelude::*;

#[jit]
fn reserved(x: Float) -> Float {
    let __jit_if0 = x;
    __jit_if0
}

fn main() {}
