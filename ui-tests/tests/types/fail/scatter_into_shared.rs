// wanted: cannot borrow `*target` as mutable, as it is behind a `&` reference
use jit::prelude::*;

fn set(target: &Float, i: &UInt) {
    target.scatter(1.0, i);
}

fn main() {}
