// wanted: a tensor is not indexed by `[]`
use jit::prelude::*;

fn main() {
    let x = Tensor::<f32>::zeros([2, 3]);
    let _ = &x[0];
}
