//! Compiles the functions that the program calls.

use filters::{expose, histogram, smooth};
use jit::bundle::Builder;
use jit::prelude::*;

fn main() -> Result<(), jit::Error> {
    // Only the element type of a placeholder matters, and whether its width is 0, 1, or another one.
    let picture = Float::placeholder(1000);
    Builder::new("kernels")
        .add("expose", || expose::compile(&picture, 1.0))
        .add("histogram", || histogram::compile(&picture, 4))
        .add("smooth", || smooth::compile(&mut Float::placeholder(1000), 2))
        .write_to_out_dir()?;
    Ok(())
}
