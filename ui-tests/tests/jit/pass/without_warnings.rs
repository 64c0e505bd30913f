#![deny(warnings)]

use jit::prelude::*;

#[jit(label = "shade", crate = ::jit)]
pub fn shade(x: Float, y: &Float, limit: u32, flag: bool) -> Float {
    let mut sum = x.clone();
    let bright;
    if flag && limit > 3 {
        sum *= y;
    }
    if x < 0.5 {
        bright = x + 1.0;
    } else {
        bright = x * y;
    }
    for _ in 0..limit {
        if sum > 2.0 || bright < x && y > 0.0 {
            sum -= bright;
        }
    }
    if sum > 4.0 {
        return sum;
    }
    if flag { sum } else { bright - sum }
}

fn main() {
    let _ = shade(Float::from(1.0), &Float::from(2.0), 2, true);
}
