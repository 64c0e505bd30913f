// wanted: `pow` is `x.powi(2)` for a whole number, and `x.powf(y)` for a float or a tensor
use jit::prelude::*;

fn main() {
    let x = Tensor::<f32>::zeros([2, 3]);
    let _ = x.pow(2);
}
