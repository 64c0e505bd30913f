// wanted: consider borrowing here
use jit::prelude::*;

fn main() {
    let x = Float::zeros(3);
    let _ = Float::concat([x.clone(), x]);
}
