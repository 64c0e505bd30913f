// wanted: `a.gather(&i)` and `a.scatter(&x, &i)` do
use jit::prelude::*;

fn main() {
    let mut x = Float::zeros(3);
    x[1] = Float::from(5.0);
}
