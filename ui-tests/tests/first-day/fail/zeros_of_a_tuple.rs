// wanted: the trait `From<usize>` is implemented for `jit::Size`
use jit::prelude::*;

fn main() {
    let _ = Float::zeros((2, 3));
}
