//! Gradient descent with momentum.

use super::sgd::{decayed, descend};
use super::{Method, Optimizer, Setting};
use crate::{Array, Float64, FloatElement, Traverse};

/// Gradient descent with momentum (B. T. Polyak, “Some methods of speeding up the convergence of iteration methods”,
/// 1964): [`Sgd`](super::Sgd) with a momentum of 0.9.
///
/// `v ← m v + g`, `p ← p − r v`; with Nesterov's momentum `p ← p − r (g + m v)`. With weight decay, `g + w p` is the
/// gradient.
///
/// ```
/// use jit::optim::Momentum;
/// use jit::prelude::*;
///
/// let mut x = Float64::from(8.0);
/// let mut momentum = Momentum::new(&x, 0.25).with_momentum(0.5);
/// for _ in 0..2 {
///     let gradient = x.clone();
///     momentum.step(&mut x, &gradient);
/// }
/// assert_eq!(x.item()?, 8.0 - 0.25 * 8.0 - 0.25 * (0.5 * 8.0 + 6.0));
/// # Ok::<(), jit::Error>(())
/// ```
pub type Momentum<P> = Optimizer<P, MomentumMethod>;

/// The settings of [`Momentum`].
#[derive(Clone, Traverse)]
pub struct MomentumMethod {
    /// The rate `r`.
    pub rate: Setting,
    /// The momentum `m`.
    pub momentum: Setting,
    /// Whether the momentum is Nesterov's.
    pub is_nesterov: bool,
    /// The weight decay `w`.
    pub weight_decay: Option<Setting>,
}

impl<P: Traverse + Clone> Momentum<P> {
    /// Descends with a rate; the momentum `m` is 0.9.
    #[must_use]
    pub fn new(parameters: &P, rate: impl Into<Setting>) -> Self {
        let (rate, momentum) = (rate.into(), 0.9.into());
        Optimizer::with_method(parameters, MomentumMethod { rate, momentum, is_nesterov: false, weight_decay: None })
    }

    /// Sets the momentum `m`.
    #[must_use]
    pub fn with_momentum(mut self, momentum: impl Into<Setting>) -> Self {
        self.settings.momentum = momentum.into();
        self
    }

    /// Makes the momentum Nesterov's.
    #[must_use]
    pub fn with_nesterov(mut self) -> Self {
        self.settings.is_nesterov = true;
        self
    }

    /// Sets the share `w` of the parameters that is added to their gradients.
    #[must_use]
    pub fn with_weight_decay(mut self, weight_decay: impl Into<Setting>) -> Self {
        self.settings.weight_decay = Some(weight_decay.into());
        self
    }
}

impl Method for MomentumMethod {
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
        descend(p, g, &mut states[0], &self.rate, &self.momentum, self.is_nesterov)
    }

    fn settings(&self) -> Vec<&Setting> {
        [&self.rate, &self.momentum].into_iter().chain(&self.weight_decay).collect()
    }
}
