// wanted: `cumsum` is `x.prefix_sum()`
use jit::prelude::*;

fn of_arrays(x: &Float) -> (Float, Float, UInt) {
    (x.cumsum(), x.clip(0.0, 1.0) + x.log(), x.nonzero())
}

fn of_tensors(x: &Tensor<f32>) -> Tensor<i32> {
    let y = x.cumsum(0) + x.flatten().mm(x) + x.vstack(x).prod(0);
    y.astype::<i32>()
}

fn main() {}
