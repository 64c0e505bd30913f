#![deny(warnings)]

use jit::prelude::*;

#[jit]
pub fn elements(table: &Float, hist: &mut UInt, i: UInt, k: usize, weights: Vec<Float>) -> Float {
    let x = table[i] * 2.0 + table[0];
    hist[i] += 1;
    hist[k] = 7;
    hist[i] &= i;
    let list = [1.0, 2.0];
    let name = &list[k % 2];
    x + weights[k] * *name
}

fn main() {
    let mut hist = UInt::zeros(4);
    let x = elements(&Float::arange(4), &mut hist, UInt::arange(3), 1, vec![Float::from(1.0), Float::from(2.0)]);
    assert_eq!(x.to_vec().unwrap(), [4.0, 6.0, 8.0]);
}
