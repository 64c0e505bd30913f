// wanted: select
use jit::prelude::*;

fn chosen(m: &Mask) -> Float {
    m.select("a", "b")
}

fn main() {}
