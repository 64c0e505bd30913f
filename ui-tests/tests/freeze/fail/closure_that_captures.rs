// wanted: a frozen closure cannot capture anything: later calls would not see that the captured values have changed
use jit::freeze::Frozen;
use jit::prelude::*;

fn main() {
    let scale = Float::opaque(2.0);
    let scaled = Frozen::new(move |x: &Float| x * &scale);
    scaled.call(&Float::arange(3));
}
