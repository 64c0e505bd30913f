//! Gradient descent.

use super::{Method, Optimizer, Setting};
use crate::{Array, Float64, FloatElement, Traverse};

/// Gradient descent, with momentum if wanted; [`Momentum`](super::Momentum) always has it.
///
/// `v ← m v + g`, `p ← p − r v`; with Nesterov's momentum `p ← p − r (g + m v)`. With weight decay, `g + w p` is the
/// gradient.
pub type Sgd<P> = Optimizer<P, SgdMethod>;

/// The settings of [`Sgd`].
#[derive(Clone, Traverse)]
pub struct SgdMethod {
    /// The rate `r`.
    pub rate: Setting,
    /// The momentum `m`. Without one, no velocity is kept.
    pub momentum: Option<Setting>,
    /// Whether the momentum is Nesterov's.
    pub is_nesterov: bool,
    /// The weight decay `w`.
    pub weight_decay: Option<Setting>,
}

impl<P: Traverse + Clone> Sgd<P> {
    /// Descends with a rate.
    #[must_use]
    pub fn new(parameters: &P, rate: impl Into<Setting>) -> Self {
        let method = SgdMethod { rate: rate.into(), momentum: None, is_nesterov: false, weight_decay: None };
        Optimizer::with_method(parameters, method)
    }

    /// Sets the momentum `m`.
    #[must_use]
    pub fn with_momentum(mut self, momentum: impl Into<Setting>) -> Self {
        self.settings.momentum = Some(momentum.into());
        self
    }

    /// Sets Nesterov's momentum `m`.
    #[must_use]
    pub fn with_nesterov_momentum(mut self, momentum: impl Into<Setting>) -> Self {
        self.settings.is_nesterov = true;
        self.with_momentum(momentum)
    }

    /// Sets the share `w` of the parameters that is added to their gradients.
    #[must_use]
    pub fn with_weight_decay(mut self, weight_decay: impl Into<Setting>) -> Self {
        self.settings.weight_decay = Some(weight_decay.into());
        self
    }
}

impl Method for SgdMethod {
    const STATES: usize = 1;

    #[track_caller]
    fn step<T: FloatElement>(
        &self,
        p: &Array<T>,
        g: &Array<T>,
        states: &mut [Array<T>],
        _: &mut [Float64],
    ) -> Array<T> {
        let g = decayed(p, g, self.weight_decay.as_ref());
        match &self.momentum {
            Some(momentum) => descend(p, g, &mut states[0], &self.rate, momentum, self.is_nesterov),
            None => p - self.rate.of::<T>() * g,
        }
    }

    fn settings(&self) -> Vec<&Setting> {
        [&self.rate].into_iter().chain(&self.momentum).chain(&self.weight_decay).collect()
    }
}

/// Returns a parameter after a step with momentum, and changes the velocity.
#[track_caller]
pub(super) fn descend<T: FloatElement>(
    p: &Array<T>,
    g: Array<T>,
    velocity: &mut Array<T>,
    rate: &Setting,
    momentum: &Setting,
    is_nesterov: bool,
) -> Array<T> {
    let momentum = momentum.of::<T>();
    let v = &momentum * &*velocity + &g;
    *velocity = v.clone();
    p - rate.of::<T>() * if is_nesterov { g + momentum * v } else { v }
}

/// Returns the gradient with weight decay.
#[track_caller]
pub(super) fn decayed<T: FloatElement>(p: &Array<T>, g: &Array<T>, weight_decay: Option<&Setting>) -> Array<T> {
    match weight_decay {
        Some(weight_decay) => g + weight_decay.of::<T>() * p,
        None => g.clone(),
    }
}
