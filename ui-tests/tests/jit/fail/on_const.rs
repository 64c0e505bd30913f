// wanted: `#[jit]` goes on a function or on an `impl` block
use jit::prelude::*;

#[jit]
const LIMIT: u32 = 3;

fn main() {}
