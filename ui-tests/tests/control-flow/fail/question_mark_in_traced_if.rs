// wanted: `?` inside an `if` on a traced value
use jit::prelude::*;

#[jit]
fn parsed(x: Float, text: &str) -> Result<Float, std::num::ParseFloatError> {
    let y = if x < 0.0 { x + text.parse::<f32>()? } else { x };
    Ok(y)
}

fn main() {}
// rows: K14
