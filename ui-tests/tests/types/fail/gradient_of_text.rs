// wanted: `String` cannot be differentiated
use jit::ad;
use jit::prelude::*;

fn main() {
    let gradient = ad::grad(|x: &Float| format!("{x}"));
    println!("{}", gradient(&Float::from(2.0)).unwrap());
}
