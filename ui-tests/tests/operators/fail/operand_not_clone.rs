// wanted: `Owned` cannot be the operand of an operator in a `#[jit]` function
use jit::prelude::*;

struct Owned;

impl std::ops::Add for Owned {
    type Output = Owned;
    fn add(self, _: Owned) -> Owned {
        self
    }
}

#[jit]
fn sum(a: Owned, b: Owned) -> Owned {
    a + b
}

fn main() {}
