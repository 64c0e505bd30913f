// wanted: there is no element type to convert
use jit::nn::{Convert, Linear};
use jit::prelude::*;

#[derive(Clone, Traverse, Convert)]
struct Net {
    layer: Linear,
}

fn main() {}
