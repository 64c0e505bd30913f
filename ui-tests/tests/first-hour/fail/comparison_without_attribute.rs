// wanted: Write `x.gt(0.0)`, `x.le(&y)`, `x.eq(&y)`, …, or mark the function `#[jit]`
use jit::prelude::*;

fn by_value(x: Float, y: Float) {
    let _ = x > 0.0;
    let _ = x < &y;
    let _ = x == y;
}

fn by_reference(x: &Float, y: &Float, n: &UInt) {
    let _ = x > 0.0;
    let _ = n <= 3;
    let _ = x < y;
    let _ = x != y.sum();
}

fn in_generic_code<T: jit::FloatElement>(x: Array<T>, limit: T) {
    let _ = x > limit;
}

fn main() {}
// rows: K20
