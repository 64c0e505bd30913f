//! Functions that trace and return a `Result`.

use jit::prelude::*;

#[jit]
fn scaled(x: &Float, factor: &str) -> Result<Float, Box<dyn std::error::Error>> {
    let factor: f32 = factor.parse()?;
    if x > 1.0 {
        return Ok(x * factor);
    }
    Ok(-x)
}

#[jit]
fn counted(x: &Float, count: &str) -> Result<Float, std::num::ParseIntError> {
    let y = if x < 0.0 { count.parse::<u8>().map(|count| x * count as f32) } else { Ok(x.clone()) };
    y.map(|y| y + 1.0)
}

#[test]
fn lanes_return_early_where_the_error_is_one_of_the_standard_library() {
    let x = Float::from([0.5, 2.0, -3.0]);
    assert_eq!(scaled(&x, "1.5").unwrap().to_vec().unwrap(), [-0.5, 3.0, 3.0]);
    assert_eq!(scaled(&x, "much").err().unwrap().to_string(), "invalid float literal");
    assert_eq!(counted(&x, "3").unwrap().to_vec().unwrap(), [1.5, 3.0, -8.0]);
}
