// wanted: the trait `From<Vec<{integer}>>` is not implemented
use jit::prelude::*;

fn main() {
    let _ = Float::from(vec![1, 2, 3]);
}
