// wanted: call `Into::into` on this expression
use jit::nn::Linear;
use jit::prelude::*;

fn main() {
    let mut layer: Linear = Linear::new(2, 3, &mut jit::random::rng(1));
    layer.weight = Tensor::zeros([3, 2]);
}
