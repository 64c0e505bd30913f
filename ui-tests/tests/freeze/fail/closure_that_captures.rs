// wanted: a frozen closure captures nothing: later calls would not see that what it captured has changed
use jit::freeze::Frozen;
use jit::prelude::*;

fn main() {
    let scale = Float::opaque(2.0);
    let scaled = Frozen::new(move |x: &Float| x * &scale);
    scaled.call(&Float::arange(3));
}
