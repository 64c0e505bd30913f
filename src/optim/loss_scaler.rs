//! Training in halves: losses are scaled, so that small gradients are not zero.

use jit_core::trees::{FloatRule, map_floats};

use super::{Method, Optimizer};
use crate::tensor::Tensor;
use crate::{Array, Float, FloatElement, Mask, Traverse, UInt};

/// A factor of losses that adapts itself (P. Micikevicius et al., “Mixed Precision Training”, 2018).
///
/// Gradients in halves that are small become zero. So a loss is multiplied by a large factor before derivatives are
/// computed, and the gradients, in the type of the parameters, are divided by it afterwards. If some gradient is
/// infinite or NaN, the step is left out and the factor becomes smaller; after many steps in a row without that it
/// becomes larger.
///
/// The factor and the counts are arrays, and steps are left out by selection. So nothing is read by the host, and a
/// frozen step has one recording.
///
/// ```
/// use jit::nn::{self, Linear, Model, Module};
/// use jit::optim::{LossScaler, Sgd};
/// use jit::prelude::*;
///
/// #[freeze]
/// fn step(line: &mut Linear, sgd: &mut Sgd<Linear>, scaler: &mut LossScaler, x: &Tensor<f32>) -> Tensor<f32> {
///     let loss = |line: &mut Linear| {
///         let y = line.half().forward(&x.cast());
///         scaler.scale(&nn::mse_loss(&y.cast::<f32>(), &(x * 3.0)))
///     };
///     let (loss, gradient) = nn::value_and_grad(line, loss).expect("the loss has derivatives");
///     let loss = scaler.unscale(&loss);
///     scaler.step(sgd, line, &gradient);
///     loss
/// }
///
/// let mut line = Linear::new(1, 1, &mut jit::random::rng(1));
/// let (mut sgd, mut scaler) = (Sgd::new(&line, 0.1), LossScaler::new());
/// let x = Tensor::linspace(-1.0f32, 1.0, 50).reshape([50, 1]);
/// for _ in 0..200 {
///     step(&mut line, &mut sgd, &mut scaler, &x);
/// }
/// assert!((line.weight.item()? - 3.0).abs() < 1e-2);
/// # Ok::<(), jit::Error>(())
/// ```
#[derive(Clone, Debug, Traverse)]
pub struct LossScaler {
    /// The factor of losses.
    pub factor: Float,
    /// The number of steps since the factor has changed.
    pub steady_steps: UInt,
    /// The number of steps that were left out.
    pub skipped_steps: UInt,
    /// What the factor is multiplied by after steps without infinite gradients; 2.
    pub growth: f32,
    /// What the factor is multiplied by after infinite gradients; 0.5.
    pub backoff: f32,
    /// The number of steps in a row without infinite gradients after which the factor becomes larger; 2000.
    pub interval: u32,
}

impl Default for LossScaler {
    fn default() -> Self {
        LossScaler::new()
    }
}

impl LossScaler {
    /// Creates a factor of 2¹⁵, the largest power of two in [`struct@half::f16`].
    #[must_use]
    pub fn new() -> Self {
        LossScaler::with_factor(32768.0)
    }

    /// Creates another factor to begin with.
    #[must_use]
    pub fn with_factor(factor: f32) -> Self {
        LossScaler {
            factor: Float::opaque(factor),
            steady_steps: UInt::opaque(0),
            skipped_steps: UInt::opaque(0),
            growth: 2.0,
            backoff: 0.5,
            interval: 2000,
        }
    }

    /// Sets the number of steps in a row without infinite gradients after which the factor becomes larger.
    #[must_use]
    pub fn with_interval(self, interval: u32) -> Self {
        LossScaler { interval, ..self }
    }

    /// Returns a loss times the factor, in single precision or more.
    #[must_use]
    #[track_caller]
    pub fn scale<T: FloatElement>(&self, loss: &Tensor<T>) -> Tensor<f32> {
        loss.cast::<f32>() * &self.factor
    }

    /// Returns the loss from before [`LossScaler::scale`].
    #[must_use]
    #[track_caller]
    pub fn unscale(&self, loss: &Tensor<f32>) -> Tensor<f32> {
        loss / &self.factor
    }

    /// Changes parameters by the gradients of a scaled loss, unless one is infinite or NaN; the state of the optimiser,
    /// too. Adapts the factor. Returns whether the step was done.
    ///
    /// # Panics
    ///
    /// As [`Optimizer::step`].
    #[track_caller]
    pub fn step<P: Traverse + Clone, M: Method>(
        &mut self,
        optimizer: &mut Optimizer<P, M>,
        parameters: &mut P,
        gradients: &P,
    ) -> Mask {
        let mut unscale = Unscale { factor: self.factor.clone(), are_finite: Mask::from(true) };
        let gradients = map_floats(&mut unscale, &[gradients], 1).swap_remove(0);
        optimizer.step_masked(parameters, &gradients, &unscale.are_finite);
        self.adapt(&unscale.are_finite);
        unscale.are_finite
    }

    #[track_caller]
    fn adapt(&mut self, are_finite: &Mask) {
        let steps = &self.steady_steps + 1;
        let is_grown = are_finite & steps.ge(self.interval);
        let grown = is_grown.select(&self.factor * self.growth, &self.factor);
        // A factor that is infinite or zero would never change again.
        let grown = grown.min(f32::MAX);
        self.factor = are_finite.select(grown, (&self.factor * self.backoff).max(f32::MIN_POSITIVE));
        self.steady_steps = (are_finite & !is_grown).select(steps, 0_u32);
        self.skipped_steps = &self.skipped_steps + are_finite.select(0_u32, 1_u32);
    }
}

/// Divides gradients by the factor; finds out whether all are finite.
struct Unscale {
    factor: Float,
    are_finite: Mask,
}

impl FloatRule for Unscale {
    #[track_caller]
    fn apply<T: FloatElement>(&mut self, _: usize, gradients: Vec<Array<T>>) -> Vec<Array<T>> {
        let gradient = &gradients[0];
        self.are_finite = &self.are_finite & gradient.is_finite().all();
        // Factors may be beyond the range of halves.
        vec![match T::TYPE.bits() {
            64 => gradient / self.factor.cast::<T>(),
            _ => (gradient.cast::<f32>() / &self.factor).cast(),
        }]
    }
}
