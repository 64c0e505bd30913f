//! Gradient descent by running means of the gradients and of their squares.

use super::rms_prop::running_mean;
use super::sgd::decayed;
use super::{Method, Optimizer, Setting};
use crate::{Array, Float64, FloatElement, Traverse};

/// Gradient descent by running means of the gradients and of their squares (Kingma and Ba, 2015).
///
/// `m ← a m + (1 − a) g`, `v ← b v + (1 − b) g²`, `p ← p − r m̂ / (√v̂ + ε)`, where `m̂` and `v̂` are the means without
/// the influence of their beginning. With weight decay, `g + w p` is the gradient; see [`AdamW`] for another one.
pub type Adam<P> = Optimizer<P, AdamMethod>;

/// [`Adam`] whose weight decay is a step of its own (Loshchilov and Hutter, 2019):
/// `p ← (1 − r w) p − r m̂ / (√v̂ + ε)`.
pub type AdamW<P> = Optimizer<P, AdamWMethod>;

/// The settings of [`Adam`].
#[derive(Clone, Traverse)]
pub struct AdamMethod {
    /// The rate `r`.
    pub rate: Setting,
    /// The decays `a` and `b` of the means.
    pub decays: [Setting; 2],
    /// The number `ε` that keeps quotients finite.
    pub epsilon: Setting,
    /// The weight decay `w`.
    pub weight_decay: Option<Setting>,
}

/// The settings of [`AdamW`].
#[derive(Clone, Traverse)]
pub struct AdamWMethod {
    /// The rate `r`.
    pub rate: Setting,
    /// The decays `a` and `b` of the means.
    pub decays: [Setting; 2],
    /// The number `ε` that keeps quotients finite.
    pub epsilon: Setting,
    /// The weight decay `w`.
    pub weight_decay: Setting,
}

/// Returns the settings `a`, `b` and `ε` that Kingma and Ba propose.
fn proposed() -> ([Setting; 2], Setting) {
    ([0.9, 0.999].map(Setting::from), 1e-8.into())
}

impl<P: Traverse + Clone> Adam<P> {
    /// Descends with a rate; `a` is 0.9, `b` is 0.999, `ε` is 10⁻⁸, and there is no weight decay.
    #[must_use]
    pub fn new(parameters: &P, rate: impl Into<Setting>) -> Self {
        let (decays, epsilon) = proposed();
        Optimizer::with_method(parameters, AdamMethod { rate: rate.into(), decays, epsilon, weight_decay: None })
    }

    /// Sets the decays `a` and `b` of the means.
    #[must_use]
    pub fn with_decays(mut self, decays: [impl Into<Setting>; 2]) -> Self {
        self.settings.decays = decays.map(Into::into);
        self
    }

    /// Sets the number `ε` that keeps quotients finite.
    #[must_use]
    pub fn with_epsilon(mut self, epsilon: impl Into<Setting>) -> Self {
        self.settings.epsilon = epsilon.into();
        self
    }

    /// Sets the share `w` of the parameters that is added to their gradients.
    #[must_use]
    pub fn with_weight_decay(mut self, weight_decay: impl Into<Setting>) -> Self {
        self.settings.weight_decay = Some(weight_decay.into());
        self
    }
}

impl<P: Traverse + Clone> AdamW<P> {
    /// Descends with a rate; `a` is 0.9, `b` is 0.999, `ε` is 10⁻⁸, and `w` is 0.01.
    #[must_use]
    pub fn new(parameters: &P, rate: impl Into<Setting>) -> Self {
        let (decays, epsilon) = proposed();
        let method = AdamWMethod { rate: rate.into(), decays, epsilon, weight_decay: 0.01.into() };
        Optimizer::with_method(parameters, method)
    }

    /// Sets the decays `a` and `b` of the means.
    #[must_use]
    pub fn with_decays(mut self, decays: [impl Into<Setting>; 2]) -> Self {
        self.settings.decays = decays.map(Into::into);
        self
    }

    /// Sets the number `ε` that keeps quotients finite.
    #[must_use]
    pub fn with_epsilon(mut self, epsilon: impl Into<Setting>) -> Self {
        self.settings.epsilon = epsilon.into();
        self
    }

    /// Sets the share `w` of the parameters that each step removes, times the rate.
    #[must_use]
    pub fn with_weight_decay(mut self, weight_decay: impl Into<Setting>) -> Self {
        self.settings.weight_decay = weight_decay.into();
        self
    }
}

impl Method for AdamMethod {
    const STATES: usize = 2;
    const COUNTERS: usize = 2;

    #[track_caller]
    fn step<T: FloatElement>(
        &self,
        p: &Array<T>,
        g: &Array<T>,
        states: &mut [Array<T>],
        counters: &mut [Float64],
    ) -> Array<T> {
        let means = Means { rate: &self.rate, decays: &self.decays, epsilon: &self.epsilon };
        p - means.step(&decayed(p, g, self.weight_decay.as_ref()), states, counters)
    }

    fn settings(&self) -> Vec<&Setting> {
        let [a, b] = &self.decays;
        [&self.rate, a, b, &self.epsilon].into_iter().chain(&self.weight_decay).collect()
    }
}

impl Method for AdamWMethod {
    const STATES: usize = 2;
    const COUNTERS: usize = 2;

    #[track_caller]
    fn step<T: FloatElement>(
        &self,
        p: &Array<T>,
        g: &Array<T>,
        states: &mut [Array<T>],
        counters: &mut [Float64],
    ) -> Array<T> {
        let means = Means { rate: &self.rate, decays: &self.decays, epsilon: &self.epsilon };
        let removed = (self.rate.values() * self.weight_decay.values()).cast::<T>();
        p - removed * p - means.step(g, states, counters)
    }

    fn settings(&self) -> Vec<&Setting> {
        let [a, b] = &self.decays;
        vec![&self.rate, a, b, &self.epsilon, &self.weight_decay]
    }
}

/// What both have in common.
struct Means<'a> {
    rate: &'a Setting,
    decays: &'a [Setting; 2],
    epsilon: &'a Setting,
}

impl Means<'_> {
    /// Returns what a step subtracts. The counters are the sums of the weights in each mean, 1 − aᵗ and 1 − bᵗ.
    #[track_caller]
    fn step<T: FloatElement>(&self, g: &Array<T>, states: &mut [Array<T>], counters: &mut [Float64]) -> Array<T> {
        let [a, b] = self.decays;
        for (counter, decay) in counters.iter_mut().zip(self.decays) {
            *counter = decay.values() * &*counter + (1.0 - decay.values());
        }
        states[0] = running_mean(a, &states[0], g);
        states[1] = running_mean(b, &states[1], &(g * g));
        // Numbers of width 1, most often: there is one division for each element.
        let rate = (self.rate.values() / &counters[0]).cast::<T>();
        let share = counters[1].recip().cast::<T>();
        rate * &states[0] / ((&states[1] * share).sqrt() + self.epsilon.positive::<T>())
    }
}
