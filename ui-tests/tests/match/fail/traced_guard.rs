// wanted: a pattern test is decided on the host; nest `if` for the traced part
use jit::prelude::*;

#[jit]
fn class(choice: Option<u32>, x: Float) -> Float {
    match choice {
        Some(_) if x > 0.0 => x,
        _ => x + 1.0,
    }
}

fn main() {}
