//! Derivatives of a loss by the parameters of a module.

use jit_core::graph::Var;

use super::kind::are_trained;
use crate::{Result, Traverse, Visitor, VisitorMut, ad};

/// Some arrays of a value.
#[derive(Clone)]
struct Arrays(Vec<Var>);

impl Traverse for Arrays {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        self.0.iter().for_each(|var| visitor.array(var));
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        self.0.iter_mut().for_each(|var| visitor.array(var));
    }
}

impl Arrays {
    /// Returns the arrays that a value lends, in order.
    fn lent(tree: &mut (impl Traverse + ?Sized)) -> Arrays {
        let mut all = Vec::new();
        tree.traverse_mut(&mut VisitorMut::new(&mut |_, var| all.push(var.clone())));
        Arrays(all)
    }

    /// Replaces the arrays that a value lends by these, in order.
    fn replace_in(&self, tree: &mut (impl Traverse + ?Sized)) {
        let mut all = self.0.iter();
        tree.traverse_mut(&mut VisitorMut::new(&mut |_, var| var.clone_from(all.next().unwrap_or(&var.clone()))));
    }
}

/// Computes a loss from a module; returns it and its gradient, which has the form of the module: the derivative of the
/// loss (of the sum of its elements, if there are several) by each parameter that is trained, and zeros for all else.
///
/// The closure gets the module itself, so that buffers advance: running statistics and generators of random numbers
/// have their new value afterwards, without gradients. The parameters are constants again. In a value that has no
/// [`Parameter`](super::Parameter), all float arrays are parameters. A closure that returns a pair, `(loss,
/// prediction)`, returns more than what is differentiated: see [`Loss`](ad::Loss).
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
/// When the loss depends on no parameter, or is computed through something that has no derivative.
#[track_caller]
pub fn value_and_grad<M, L>(module: &mut M, loss: impl FnOnce(&mut M) -> L) -> Result<(L, M)>
where
    M: Traverse + Clone,
    L: ad::Loss,
{
    let all = with_variables(module);
    let module = Variables(module);
    let loss = loss(module.0);
    let gradients = ad::backward_to(&Arrays(vec![loss.objective()]), &all)?;
    ad::disable_grad(module.0);
    let mut gradient = module.0.clone();
    gradients.replace_in(&mut gradient);
    Ok((ad::detach(&loss), gradient))
}

/// A module whose parameters are variables, and constants again when this is dropped: after an error or a panic, too.
struct Variables<'m, M: Traverse>(&'m mut M);

impl<M: Traverse> Drop for Variables<'_, M> {
    fn drop(&mut self) {
        ad::disable_grad(self.0);
    }
}

/// Makes variables of the arrays of a module that are trained. Returns all of its arrays.
#[track_caller]
fn with_variables(module: &mut (impl Traverse + ?Sized)) -> Arrays {
    let is_trained = are_trained(module);
    let mut all = Arrays::lent(module);
    for (var, _) in all.0.iter_mut().zip(is_trained).filter(|(_, is_trained)| *is_trained) {
        let mut variable = Arrays(vec![var.clone()]);
        ad::enable_grad(&mut variable);
        *var = variable.0.swap_remove(0);
    }
    all.replace_in(module);
    all
}
