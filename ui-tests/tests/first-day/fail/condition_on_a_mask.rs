// wanted: expected `bool`, found `Array<bool>`
use jit::prelude::*;

fn main() {
    let x = Float::zeros(3);
    if x.gt(0.0).any() {
        println!("some");
    }
}
