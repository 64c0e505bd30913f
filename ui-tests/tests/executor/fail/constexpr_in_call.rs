// wanted: this method takes 1 argument but 2 arguments were supplied
use jit::prelude::*;

#[jit]
fn power(x: &Float, #[constexpr] n: usize) -> Float {
    (1..n).fold(x.clone(), |y, _| y * x)
}

fn main() -> jit::Result<()> {
    let cubes = power::compile(&Float::placeholder(4), 3)?;
    cubes.call(&Float::arange(4), 3)?;
    Ok(())
}
// rows: K105
