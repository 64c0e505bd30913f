// wanted: `Traverse` cannot be derived for unions
use jit::prelude::*;

#[derive(Traverse)]
union Bits {
    float: f32,
    int: u32,
}

fn main() {}
