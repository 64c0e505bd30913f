// wanted: `q` is not a format of a value
use jit::prelude::*;

fn main() {
    let x = Float::from(1.0);
    jit::print!("{:q}", x);
    jit::print!("{} and {}", x);
    jit::print!("{}", x, x);
    jit::print!("{:1$}", x, 5);
    jit::print!(x);
    jit::print!("{x", limit = 3);
    jit::print!("{x}", limit = 3, limit = 4);
}
