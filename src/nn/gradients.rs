//! Derivatives of a loss by the parameters of a module.

use super::kind::are_trained;
use crate::{Result, Traverse, ad};

/// Computes a loss from a module; returns it and its gradient, which has the form of the module: the derivative of the
/// loss (of the sum of its elements, if there are several) by each parameter that is trained, and zeros for all else.
///
/// The closure gets the module itself, so that buffers advance: running statistics and generators of random numbers
/// have their new value afterwards, without gradients. The parameters are the arrays that they were before. In a value
/// that has no [`Parameter`](super::Parameter), all float arrays are parameters. A closure that returns a pair, `(loss,
/// prediction)`, returns more than what is differentiated: see [`Loss`](ad::Loss).
///
/// Calls nest, as those of [`ad::grad`]: the loss of an outer call may depend on the gradient of an inner one, and on
/// steps that an optimiser takes by it, as in meta-learning.
///
/// ```
/// use jit::nn::{self, Linear, Module};
/// use jit::optim::Sgd;
/// use jit::prelude::*;
///
/// let mut line = Linear::new(1, 1, &mut jit::random::rng(1));
/// let x = Tensor::linspace(-1.0f32, 1.0, 50).reshape([50, 1]);
/// // The loss after a step, by the parameters before it.
/// let after_a_step = |line: &mut Linear| {
///     let loss = |line: &mut Linear| nn::mse_loss(&line.forward(&x), &(&x * 3.0));
///     let mut fast = line.clone();
///     let (_, gradient) = nn::value_and_grad(&mut fast, loss).expect("the loss has derivatives");
///     Sgd::new(&fast, 0.1).step(&mut fast, &gradient);
///     loss(&mut fast)
/// };
/// let (loss, gradient) = nn::value_and_grad(&mut line, after_a_step)?;
/// assert!(loss.item()? > 0.0 && gradient.weight.item()? != 0.0);
/// # Ok::<(), jit::Error>(())
/// ```
///
/// ```
/// use jit::nn::{self, Linear, Module};
/// use jit::optim::Sgd;
/// use jit::prelude::*;
///
/// #[freeze]
/// fn step(line: &mut Linear, sgd: &mut Sgd<Linear>, x: &Tensor<f32>, y: &Tensor<f32>) -> Tensor<f32> {
///     let loss = |line: &mut Linear| nn::mse_loss(&line.forward(x), y);
///     let (loss, gradient) = nn::value_and_grad(line, loss).expect("the loss has derivatives");
///     sgd.step(line, &gradient);
///     loss
/// }
///
/// let mut line = Linear::new(1, 1, &mut jit::random::rng(1));
/// let mut sgd = Sgd::new(&line, 0.1);
/// let x = Tensor::linspace(-1.0f32, 1.0, 50).reshape([50, 1]);
/// let y = &x * 3.0 + 1.0;
/// for _ in 0..200 {
///     step(&mut line, &mut sgd, &x, &y);
/// }
/// assert!((line.weight.item()? - 3.0).abs() < 1e-3);
/// # Ok::<(), jit::Error>(())
/// ```
///
/// # Errors
///
/// When the loss depends on no parameter that is trained, or is computed through something that has no derivative.
#[track_caller]
pub fn value_and_grad<M, L>(module: &mut M, loss: impl FnOnce(&mut M) -> L) -> Result<(L, M)>
where
    M: Traverse + Clone,
    L: ad::Loss,
{
    let _line = crate::enter();
    let is_trained = are_trained(module);
    ad::value_and_grad_in_place(module, &is_trained, loss)
}
