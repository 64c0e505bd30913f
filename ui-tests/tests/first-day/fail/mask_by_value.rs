// wanted: expected `&Array<bool>`, found `Array<bool>`
use jit::prelude::*;

fn main() {
    let x = Float::zeros(12);
    let _ = jit::select(x.gt(0.0), 1.0, &x);
}
