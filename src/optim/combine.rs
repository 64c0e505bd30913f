//! Arithmetic on gradients and parameters as a whole: sums over several batches, norms, running averages.

use jit_core::trees::{FloatRule, map_floats};

use super::Setting;
use crate::nn::{are_parameters, are_trained};
use crate::{Array, Float, Float64, FloatElement, Traverse};

/// Returns zeros in the form of parameters: the sum of no gradients, for [`accumulate`].
#[must_use]
pub fn zeros_like<P: Traverse + Clone>(parameters: &P) -> P {
    struct Zeros;
    impl FloatRule for Zeros {
        fn apply<T: FloatElement>(&mut self, _: usize, arrays: Vec<Array<T>>) -> Vec<Array<T>> {
            vec![arrays[0].zeros_like()]
        }
    }
    crate::ad::suspend(|| map_floats(&mut Zeros, &[parameters], 1)).swap_remove(0)
}

/// Adds gradients to a sum of the same form: those of several small batches, for a step by all of them.
///
/// ```
/// use jit::nn::{self, Linear, Module};
/// use jit::optim::{self, Sgd};
/// use jit::prelude::*;
///
/// let mut line = Linear::new(1, 1, &mut jit::random::rng(1));
/// let mut sgd = Sgd::new(&line, 0.1);
/// let mut sum = optim::zeros_like(&line);
/// for part in 0..4 {
///     let x = Tensor::full(part as f32, [8, 1]);
///     let (_, gradient) = nn::value_and_grad(&mut line, |line| nn::mse_loss(&line.forward(&x), &x))?;
///     optim::accumulate(&mut sum, &gradient);
/// }
/// sgd.step(&mut line, &optim::scaled(&sum, 0.25));
/// # Ok::<(), jit::Error>(())
/// ```
///
/// # Panics
///
/// When the arrays of the values differ in number, type or width.
#[track_caller]
pub fn accumulate<P: Traverse + Clone>(sum: &mut P, gradients: &P) {
    struct Add;
    impl FloatRule for Add {
        #[track_caller]
        fn apply<T: FloatElement>(&mut self, _: usize, arrays: Vec<Array<T>>) -> Vec<Array<T>> {
            vec![&arrays[0] + &arrays[1]]
        }
    }
    *sum = map_floats(&mut Add, &[&*sum, gradients], 1).swap_remove(0);
}

/// Returns gradients times a factor.
#[must_use]
#[track_caller]
pub fn scaled<P: Traverse + Clone>(gradients: &P, factor: impl Into<Setting>) -> P {
    struct Scale(Setting);
    impl FloatRule for Scale {
        #[track_caller]
        fn apply<T: FloatElement>(&mut self, _: usize, arrays: Vec<Array<T>>) -> Vec<Array<T>> {
            vec![&arrays[0] * self.0.of::<T>()]
        }
    }
    map_floats(&mut Scale(factor.into()), &[gradients], 1).swap_remove(0)
}

/// Returns the sum of the squares of all elements: of gradients, or of the parameters of a module that are trained,
/// through which gradients flow. It is computed in double precision and rounded once.
///
/// ```
/// use jit::nn::{self, Linear, Module};
/// use jit::optim;
/// use jit::prelude::*;
///
/// let mut line: Linear = Linear::new(2, 1, &mut jit::random::rng(1));
/// let x = Tensor::<f32>::ones([8, 2]);
/// let (loss, gradient) = nn::value_and_grad(&mut line, |line| {
///     let loss = nn::mse_loss(&line.forward(&x), &Tensor::zeros([8, 1]));
///     loss + optim::squared_norm(line) * 1e-3 // the penalty of ridge regression
/// })?;
/// println!("loss {loss}, norm of the gradient {}", optim::norm(&gradient));
/// # Ok::<(), jit::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn squared_norm<P: Traverse + Clone>(values: &P) -> Float {
    squares(values).cast()
}

/// Returns the norm of all elements together, which [`clip_norm`](super::clip_norm) bounds; see [`squared_norm`].
#[must_use]
#[track_caller]
pub fn norm<P: Traverse + Clone>(values: &P) -> Float {
    squares(values).sqrt().cast()
}

/// Returns the sum of all squares.
#[track_caller]
pub(super) fn squares<P: Traverse + Clone>(values: &P) -> Float64 {
    struct Squares {
        are_trained: Vec<bool>,
        sum: Float64,
    }
    impl FloatRule for Squares {
        #[track_caller]
        fn apply<T: FloatElement>(&mut self, position: usize, arrays: Vec<Array<T>>) -> Vec<Array<T>> {
            if self.are_trained[position] {
                self.sum = &self.sum + arrays[0].cast::<f64>().squared_norm();
            }
            Vec::new()
        }
    }
    let mut squares = Squares { are_trained: are_trained(values), sum: Float64::from(0.0) };
    let _: Vec<P> = map_floats(&mut squares, &[values], 0);
    squares.sum
}

/// A running average of parameters, which often generalises better than the parameters of the last step (B. Polyak,
/// A. Juditsky, 1992): `a ← d a + (1 − d) p` in each step.
///
/// ```
/// use jit::nn::{self, Linear, Module};
/// use jit::optim::{Average, Sgd};
/// use jit::prelude::*;
///
/// #[freeze]
/// fn step(line: &mut Linear, sgd: &mut Sgd<Linear>, average: &mut Average<Linear>, x: &Tensor<f32>) {
///     let loss = |line: &mut Linear| nn::mse_loss(&line.forward(x), &(x * 3.0));
///     let (_, gradient) = nn::value_and_grad(line, loss).expect("the loss has derivatives");
///     sgd.step(line, &gradient);
///     average.update(line);
/// }
///
/// let mut line = Linear::new(1, 1, &mut jit::random::rng(1));
/// let (mut sgd, mut average) = (Sgd::new(&line, 0.1), Average::new(&line, 0.9));
/// let x = Tensor::linspace(-1.0f32, 1.0, 50).reshape([50, 1]);
/// for _ in 0..300 {
///     step(&mut line, &mut sgd, &mut average, &x);
/// }
/// let y = average.value.infer(&Tensor::from([[2.0f32]]));
/// assert!((y.item()? - 6.0).abs() < 1e-2);
/// # Ok::<(), jit::Error>(())
/// ```
#[derive(Clone, Debug, Traverse)]
pub struct Average<P: Traverse> {
    /// The averages; what is no parameter, such as the running statistics of normalisations, is that of the last step.
    pub value: P,
    /// The decay `d`.
    pub decay: Setting,
}

impl<P: Traverse + Clone> Average<P> {
    /// Begins with the parameters as they are.
    #[must_use]
    pub fn new(parameters: &P, decay: impl Into<Setting>) -> Self {
        Average { value: crate::ad::detach(parameters), decay: decay.into() }
    }

    /// Takes the parameters after a step into account. Of parameters in halves, too, the average is computed in the
    /// type that they have.
    ///
    /// # Panics
    ///
    /// When the arrays of the values differ in number or type.
    #[track_caller]
    pub fn update(&mut self, parameters: &P) {
        let mut mean = Mean { decay: &self.decay, are_parameters: are_parameters(parameters) };
        let parameters = crate::ad::detach(parameters);
        let mut results = map_floats(&mut mean, &[&parameters, &self.value], 1);
        self.value = results.swap_remove(0);
    }
}

/// The average of each parameter; all else is that of the first value.
struct Mean<'a> {
    decay: &'a Setting,
    are_parameters: Vec<bool>,
}

impl FloatRule for Mean<'_> {
    #[track_caller]
    fn apply<T: FloatElement>(&mut self, position: usize, arrays: Vec<Array<T>>) -> Vec<Array<T>> {
        let [parameter, average] = &arrays[..] else { return Vec::new() };
        if !self.are_parameters[position] {
            return vec![parameter.clone()];
        }
        vec![average + (parameter - average) * (1.0 - self.decay.values()).cast::<T>()]
    }
}
