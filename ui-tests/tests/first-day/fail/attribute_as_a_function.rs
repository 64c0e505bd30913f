// wanted: expected function, found crate `jit`
use jit::prelude::*;

fn main() {
    let _ = jit(|x: &Float| x * 2.0);
}
