// wanted: `x.powi(2)` for a whole number, and `x.powf(y)` for a float
use jit::prelude::*;

fn main() {
    let x = Float::zeros(3);
    let _ = x.pow(2);
}
