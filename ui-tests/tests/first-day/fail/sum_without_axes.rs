// wanted: argument #1 is missing
use jit::prelude::*;

fn main() {
    let x = Tensor::<f32>::zeros([2, 3]);
    let _ = x.sum();
}
