// wanted: there is a method `powf`
use jit::prelude::*;

fn main() {
    let x = Float::zeros(3);
    let _ = x.pow(2);
}
