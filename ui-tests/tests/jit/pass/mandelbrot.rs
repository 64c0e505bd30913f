use jit::prelude::*;

#[jit]
fn escape_time(cx: Float, cy: Float, #[constexpr] limit: u32) -> UInt {
    let (mut x, mut y, mut n) = (cx.zeros_like(), cx.zeros_like(), UInt::from(0));
    while x * x + y * y < 4.0 && n < limit {
        (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
        n += 1;
    }
    n
}

fn main() {
    let n = escape_time(Float::from([0.0, 1.0]), Float::from([0.0, 1.0]), 20);
    assert_eq!(n.to_vec().unwrap(), [20, 2]);
}
