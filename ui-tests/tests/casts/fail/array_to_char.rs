// wanted: an array of `u8` cannot be cast to `char` by `as`
use jit::prelude::*;

#[jit]
fn cast(x: UInt8) -> bool {
    x as char == 'a'
}

fn main() {}
