#![deny(warnings)]

use jit::prelude::*;

#[derive(Clone, Copy)]
pub enum Kind {
    A,
    B = 4,
}

#[jit]
pub fn casts(x: Float, m: &Mask, kind: Kind, n: usize) -> UInt {
    let letter = (b'a' + n as u8) as char;
    let base = kind as u32 + Kind::A as u32 + letter as u32;
    x as u32 + m as u32 + base
}

fn main() {
    let got = casts(Float::from([1.5, -2.0]), &Mask::from([true, false]), Kind::B, 1);
    assert_eq!(got.to_vec().unwrap(), [104, 102]);
}
