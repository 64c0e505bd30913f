// wanted: cannot compare `Array<u64>` with `Array<i64>`
use jit::prelude::*;

#[jit]
fn less(x: UInt64, n: Int64) -> Mask {
    x < n
}

fn main() {}
// rows: K20
