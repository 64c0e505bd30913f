// wanted: the trait `From<{float}>` is not implemented for `jit::Size`
use jit::prelude::*;

fn main() {
    let _ = Float::arange(0.0, 10.0, 0.5);
}
