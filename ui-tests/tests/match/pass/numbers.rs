#![deny(warnings)]

use jit::prelude::*;

const LIMIT: u32 = 7;

#[jit]
pub fn class(n: UInt, m: Mask, kind: u8, x: &Float) -> Float {
    let base = match n {
        0 => x * 2.0,
        1 | 2 => x + 1.0,
        LIMIT => x.clone(),
        k if k > 20 => k as f32,
        3..=5 => Float::from(0.5),
        other => other as f32 * x,
    };
    let sign = match m {
        true => Float::from(1.0),
        false => Float::from(-1.0),
    };
    let scale = match kind {
        b'a'..=b'z' => 1.0,
        _ => 2.0,
    };
    base * sign * scale
}

fn main() {
    let n = UInt::from([0, 2, 7, 30, 4, 10]);
    let m = Mask::from([true, false, true, true, false, true]);
    let got = class(n, m, b'q', &Float::from(3.0));
    assert_eq!(got.to_vec().unwrap(), [6.0, -4.0, 3.0, 30.0, -0.5, 30.0]);
}
