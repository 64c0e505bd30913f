// wanted: `view` is `x.reshape([2, -1])`, which copies nothing
use jit::prelude::*;

fn main() {
    let x = Tensor::<f32>::zeros([2, 3]);
    let _ = x.view([3, 2]);
}
