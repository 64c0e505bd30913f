// wanted: `a.get(i)` reads one element to the host
use jit::prelude::*;

fn main() {
    let x = Float::from([1.0, 2.0]);
    println!("{}", x[0]);
}
