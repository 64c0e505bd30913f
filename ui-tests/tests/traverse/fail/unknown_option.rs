// wanted: unknown `traverse` option `skp`; did you mean `skip`?
use jit::prelude::*;

#[derive(Traverse)]
struct Log {
    values: Float,
    #[traverse(skp)]
    file: std::fs::File,
}

fn main() {}
