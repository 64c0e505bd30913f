use jit::prelude::*;

#[jit]
fn all_kinds(x: Float, n: UInt, k: Int, y: Float64) -> Mask {
    let a = 2.0 * x + 1.0 > 0.5;
    let b = n * 3 + 1 != 4;
    let c = -2 < k && k <= 7;
    let d = y >= 0.0 || !(1.0 > y);
    let e = x > 0 && x * 2 < 9;
    a == b && c != d || e
}

fn main() {
    let mask = all_kinds(Float::from(1.0), UInt::from(1), Int::from(3), Float64::from(2.0));
    assert_eq!(mask.to_vec().unwrap().len(), 1);
}
// rows: K33
