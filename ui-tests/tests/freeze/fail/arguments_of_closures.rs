// wanted: the frozen closure does not take these arguments
use jit::freeze::Frozen;
use jit::prelude::*;

fn main() {
    let x = Float::arange(3);
    let doubled = Frozen::new(|x: &Float| x * 2.0);
    doubled.call((&x, &x));
    doubled.call(x.clone());
    doubled.call(&Int::arange(3));
    let scaled = Frozen::with(Float::from(2.0), |scale: &Float, x: &Float| x * scale);
    scaled.call((&x, &x));
}
