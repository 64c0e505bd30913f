use jit::prelude::*;

#[jit]
fn parse(x: &Float, text: &str) -> Result<Float, std::num::ParseFloatError> {
    let mut sum = x.clone();
    for part in text.split(',') {
        if part.is_empty() {
            continue;
        }
        if part == "end" {
            break;
        }
        let factor = part.trim().parse::<f32>()?;
        match factor {
            0.0 => return Ok(sum),
            negative if negative < 0.0 => sum -= negative,
            positive => sum *= positive,
        }
    }
    Ok(sum)
}

fn main() {
    let x = Float::from([1.0, 2.0]);
    assert_eq!(parse(&x, "2, ,-1,end,x").is_err(), true);
    assert_eq!(parse(&x, "2,,-1,end,x").unwrap().to_vec().unwrap(), [3.0, 5.0]);
}
