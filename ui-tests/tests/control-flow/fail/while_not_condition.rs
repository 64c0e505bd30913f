// wanted: `Array<i32>` is not a condition: `while` takes a `bool` or a `Mask`
use jit::prelude::*;

#[jit]
fn count_down(mut n: Int) -> Int {
    while n {
        n -= 1;
    }
    n
}

fn main() {}
