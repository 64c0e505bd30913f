// wanted: a range is `a.slice(lo..hi)`
use jit::prelude::*;

fn main() {
    let x = Float::zeros(3);
    let _ = x[1..2].sum();
}
