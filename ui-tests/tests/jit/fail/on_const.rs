// wanted: `#[jit]` applies to a function or to an `impl` block
use jit::prelude::*;

#[jit]
const LIMIT: u32 = 3;

fn main() {}
