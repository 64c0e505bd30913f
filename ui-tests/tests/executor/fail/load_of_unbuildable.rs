// wanted: `Recursive` cannot be built from a file
use jit::prelude::*;

#[derive(Clone, Traverse)]
struct Recursive {
    x: Float,
    next: Option<Box<Recursive>>,
}

#[derive(Clone, Traverse)]
struct Holder {
    inner: Recursive,
}

#[jit]
fn recursive(x: &Float) -> Recursive {
    Recursive { x: x + 1, next: None }
}

#[jit]
fn holder(x: &Float) -> Holder {
    Holder { inner: recursive(x) }
}

fn main() -> jit::Result<()> {
    let _ = holder::compile(&Float::placeholder(4))?;
    holder::load("holder.jit")?;
    recursive::load("recursive.jit")?;
    Ok(())
}
