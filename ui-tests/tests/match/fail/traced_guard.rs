// wanted: a pattern test is decided on the host; nest `if` for the traced part
use jit::prelude::*;

#[jit]
fn class(choice: Option<u32>, other: Option<f32>, x: Float) -> Float {
    match choice {
        Some(_) if let Some(limit) = other && x > limit => x,
        _ => x + 1.0,
    }
}

fn main() {}
