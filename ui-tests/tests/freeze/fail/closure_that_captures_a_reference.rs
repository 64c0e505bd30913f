// wanted: write `Frozen::with(k
use jit::freeze::Frozen;
use jit::prelude::*;

static SCALES: [f32; 2] = [1.0, 2.0];

fn main() {
    let scale = &SCALES[1];
    let scaled = Frozen::new(move |x: &Float| x * *scale);
    scaled.call(&Float::arange(3));
}
