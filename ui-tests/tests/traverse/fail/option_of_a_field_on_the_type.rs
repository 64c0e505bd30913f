// wanted: unknown `traverse` option `skip`; expected `bound` or `crate` on a type; `skip`, `constexpr` and `rename` go
// on a field
use jit::prelude::*;

#[derive(Traverse)]
#[traverse(skip)]
struct Log {
    values: Float,
}

fn main() {}
