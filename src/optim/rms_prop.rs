//! Gradient descent by the magnitude of gradients.

use super::{Method, Optimizer, Setting};
use crate::{Array, Float64, FloatElement, Traverse};

/// Gradient descent, with rates divided by a running mean of the gradients' magnitude.
///
/// `s ← a s + (1 − a) g²`, `p ← p − r g / (√s + ε)`.
pub type RmsProp<P> = Optimizer<P, RmsPropMethod>;

/// The settings of [`RmsProp`].
#[derive(Clone, Traverse)]
pub struct RmsPropMethod {
    /// The rate `r`.
    pub rate: Setting,
    /// The decay `a` of the mean.
    pub decay: Setting,
    /// The number `ε` that keeps quotients finite.
    pub epsilon: Setting,
}

impl<P: Traverse + Clone> RmsProp<P> {
    /// Descends with a rate; `a` is 0.99, and `ε` is 10⁻⁸.
    #[must_use]
    pub fn new(parameters: &P, rate: impl Into<Setting>) -> Self {
        let method = RmsPropMethod { rate: rate.into(), decay: 0.99.into(), epsilon: 1e-8.into() };
        Optimizer::with_method(parameters, method)
    }

    /// Sets the decay `a` of the mean.
    #[must_use]
    pub fn with_decay(mut self, decay: impl Into<Setting>) -> Self {
        self.settings.decay = decay.into();
        self
    }

    /// Sets the number `ε` that keeps quotients finite.
    #[must_use]
    pub fn with_epsilon(mut self, epsilon: impl Into<Setting>) -> Self {
        self.settings.epsilon = epsilon.into();
        self
    }
}

impl Method for RmsPropMethod {
    const STATES: usize = 1;

    #[track_caller]
    fn step<T: FloatElement>(
        &self,
        p: &Array<T>,
        g: &Array<T>,
        states: &mut [Array<T>],
        _: &mut [Float64],
    ) -> Array<T> {
        states[0] = running_mean(&self.decay, &states[0], &(g * g));
        p - self.rate.of::<T>() * g / (states[0].sqrt() + self.epsilon.positive::<T>())
    }

    fn settings(&self) -> Vec<&Setting> {
        vec![&self.rate, &self.decay, &self.epsilon]
    }
}

/// Returns `a m + (1 − a) x`. The difference is taken in double precision: that of 0.999 has few digits in single.
#[track_caller]
pub(super) fn running_mean<T: FloatElement>(decay: &Setting, mean: &Array<T>, x: &Array<T>) -> Array<T> {
    let share = (1.0 - decay.values()).cast::<T>();
    decay.of::<T>() * mean + share * x
}
