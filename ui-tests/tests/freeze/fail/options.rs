// wanted: unknown `freeze` option `limits`; did you mean `limit`?
use jit::prelude::*;

#[freeze(limits = 8)]
fn misspelt(x: &Float) -> Float {
    x + 1.0
}

#[freeze(cached = 8)]
fn unknown(x: &Float) -> Float {
    x + 1.0
}

#[freeze(limit = "eight", warn_after = -1, auto_opaque = 3, enabled = "no", label = 4)]
fn of_wrong_types(x: &Float) -> Float {
    x + 1.0
}

#[freeze(limit = -2)]
fn below_none(x: &Float) -> Float {
    x + 1.0
}

#[freeze(budget = 1, budget = 2)]
fn twice(x: &Float) -> Float {
    x + 1.0
}

#[freeze(state = 3)]
fn no_closure(x: &Float) -> Float {
    x + 1.0
}

#[freeze(state = |x, y| (y,))]
fn too_many_arguments(x: &Float) -> Float {
    x + 1.0
}

#[freeze(key(y))]
fn no_parameter(x: &Float) -> Float {
    x + 1.0
}

#[freeze(key = "n")]
fn no_list(x: &Float, n: u32) -> Float {
    x + n
}

#[freeze]
#[jit(fast_maths)]
fn beside(x: &Float) -> Float {
    x + 1.0
}

fn main() {
    println!("{:?}", (misspelt::stats(), twice(&Float::from(1.0))));
}
