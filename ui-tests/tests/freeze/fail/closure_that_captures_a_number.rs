// wanted: write `Frozen::with(k, |k: &f32, x: &Float| x * *k)`
use jit::freeze::Frozen;
use jit::prelude::*;

fn main() {
    let k = 2.0_f32;
    let scaled = Frozen::new(move |x: &Float| x * k);
    scaled.call(&Float::arange(3));
}
