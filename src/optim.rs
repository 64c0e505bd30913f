//! Optimisers: gradient descent and its relatives, over any value that is [`Traverse`].
//!
//! An optimiser holds its state in the form of the parameters, and its rates as arrays of width 1. So it is itself
//! [`Traverse`]: a frozen step takes and changes it like the parameters, and another rate needs no other recording. A
//! step is lazy, and fuses with what computes the gradients. Parameters that are no floats stay as they are. Parts of a
//! value may have optimisers of their own, with other rates.
//!
//! ```
//! use jit::optim::Adam;
//! use jit::prelude::*;
//!
//! #[freeze]
//! fn step(x: &mut Float, adam: &mut Adam<Float>) -> Float {
//!     let loss = |x: &Float| ((x - 3.0) * (x - 3.0)).sum();
//!     let (loss, gradient) = jit::ad::value_and_grad(loss)(x).expect("it has derivatives");
//!     adam.step(x, &gradient);
//!     loss
//! }
//!
//! let mut x = Float::from(vec![0.0, 10.0]);
//! let mut adam = Adam::new(&x, 0.3);
//! for _ in 0..300 {
//!     step(&mut x, &mut adam);
//! }
//! assert!(x.to_vec()?.iter().all(|x| (x - 3.0).abs() < 0.01));
//! # Ok::<(), jit::Error>(())
//! ```
//!
//! The formulas are those of PyTorch's classes of the same names.

use jit_core::ad;
use jit_core::trees::{FloatRule, map_floats};

use crate::{Array, Float, FloatElement, Traverse};

/// Returns a rate as a value that never becomes part of the code.
fn rate(value: f32) -> Float {
    Float::opaque(value)
}

/// Replaces parameters by the results of a rule, and returns the new state.
fn updated<P, R, const N: usize, const M: usize>(rule: &R, trees: [&P; N]) -> [P; M]
where
    P: Traverse + Clone,
    R: FloatRule<N, M>,
{
    ad::suspend(|| map_floats(rule, trees))
}

/// Returns zeros in the form of parameters.
fn zeros<P: Traverse + Clone>(parameters: &P) -> P {
    struct Zeros;
    impl FloatRule<1, 1> for Zeros {
        fn apply<T: FloatElement>(&self, [x]: [Array<T>; 1]) -> [Array<T>; 1] {
            [x.zeros_like()]
        }
    }
    let [zeros] = updated(&Zeros, [parameters]);
    zeros
}

/// Gradient descent, with momentum if wanted.
///
/// `v ← m v + g`, `p ← p − r v`; with Nesterov's momentum `p ← p − r (g + m v)`.
#[derive(Clone, Traverse)]
pub struct Sgd<P: Traverse> {
    /// The rate `r`, of width 1.
    pub rate: Float,
    momentum: Float,
    /// One for Nesterov's momentum, else zero.
    lead: Float,
    velocity: P,
}

impl<P: Traverse + Clone> Sgd<P> {
    /// Descends with a rate.
    #[must_use]
    pub fn new(parameters: &P, rate: f32) -> Self {
        Sgd { rate: self::rate(rate), momentum: self::rate(0.0), lead: self::rate(0.0), velocity: zeros(parameters) }
    }

    /// Sets the momentum `m`.
    #[must_use]
    pub fn with_momentum(self, momentum: f32) -> Self {
        Sgd { momentum: rate(momentum), ..self }
    }

    /// Sets Nesterov's momentum `m`.
    #[must_use]
    pub fn with_nesterov_momentum(self, momentum: f32) -> Self {
        Sgd { momentum: rate(momentum), lead: rate(1.0), ..self }
    }

    /// Changes parameters by their gradients.
    ///
    /// # Panics
    ///
    /// When the arrays of the values differ in number, type or width.
    #[track_caller]
    pub fn step(&mut self, parameters: &mut P, gradients: &P) {
        struct Step<'a>(&'a Float, &'a Float, &'a Float);
        impl FloatRule<3, 2> for Step<'_> {
            fn apply<T: FloatElement>(&self, [p, g, v]: [Array<T>; 3]) -> [Array<T>; 2] {
                let [rate, momentum, lead] = [self.0, self.1, self.2].map(Array::cast::<T>);
                let v = &momentum * v + &g;
                let ahead = &momentum * &v + g;
                let by = &v + lead * (ahead - &v);
                [p - rate * by, v]
            }
        }
        let rule = Step(&self.rate, &self.momentum, &self.lead);
        [*parameters, self.velocity] = updated(&rule, [parameters, gradients, &self.velocity]);
    }
}

/// Gradient descent, with rates divided by a running mean of the gradients' magnitude.
///
/// `s ← a s + (1 − a) g²`, `p ← p − r g / (√s + ε)`.
#[derive(Clone, Traverse)]
pub struct RmsProp<P: Traverse> {
    /// The rate `r`, of width 1.
    pub rate: Float,
    decay: Float,
    epsilon: Float,
    square: P,
}

impl<P: Traverse + Clone> RmsProp<P> {
    /// Descends with a rate; `a` is 0.99, and `ε` is 10⁻⁸.
    #[must_use]
    pub fn new(parameters: &P, rate: f32) -> Self {
        let [decay, epsilon] = [0.99, 1e-8].map(self::rate);
        RmsProp { rate: self::rate(rate), decay, epsilon, square: zeros(parameters) }
    }

    /// Sets the decay `a` of the mean.
    #[must_use]
    pub fn with_decay(self, decay: f32) -> Self {
        RmsProp { decay: rate(decay), ..self }
    }

    /// Changes parameters by their gradients.
    ///
    /// # Panics
    ///
    /// As [`Sgd::step`].
    #[track_caller]
    pub fn step(&mut self, parameters: &mut P, gradients: &P) {
        struct Step<'a>(&'a Float, &'a Float, &'a Float);
        impl FloatRule<3, 2> for Step<'_> {
            fn apply<T: FloatElement>(&self, [p, g, s]: [Array<T>; 3]) -> [Array<T>; 2] {
                let [rate, decay, epsilon] = [self.0, self.1, self.2].map(Array::cast::<T>);
                let square = &g * &g;
                let s = &square + decay * (s - &square);
                [p - rate * g / (s.sqrt() + epsilon), s]
            }
        }
        let rule = Step(&self.rate, &self.decay, &self.epsilon);
        [*parameters, self.square] = updated(&rule, [parameters, gradients, &self.square]);
    }
}

/// Gradient descent by running means of the gradients and of their squares (Kingma and Ba, 2015); with
/// [`Adam::with_weight_decay`] it is AdamW (Loshchilov and Hutter, 2019).
///
/// `m ← a m + (1 − a) g`, `v ← b v + (1 − b) g²`, `p ← (1 − r w) p − r m̂ / (√v̂ + ε)`, where `m̂` and `v̂` are the
/// means without the influence of their beginning.
#[derive(Clone, Traverse)]
pub struct Adam<P: Traverse> {
    /// The rate `r`, of width 1.
    pub rate: Float,
    decays: [Float; 2],
    epsilon: Float,
    weight_decay: Float,
    /// The powers of the decays after so many steps.
    powers: [Float; 2],
    mean: P,
    square: P,
}

impl<P: Traverse + Clone> Adam<P> {
    /// Descends with a rate; `a` is 0.9, `b` is 0.999, `ε` is 10⁻⁸, and `w` is 0.
    #[must_use]
    pub fn new(parameters: &P, rate: f32) -> Self {
        Adam {
            rate: self::rate(rate),
            decays: [0.9, 0.999].map(self::rate),
            epsilon: self::rate(1e-8),
            weight_decay: self::rate(0.0),
            powers: [1.0, 1.0].map(self::rate),
            mean: zeros(parameters),
            square: zeros(parameters),
        }
    }

    /// Sets the decays `a` and `b` of the means.
    #[must_use]
    pub fn with_decays(self, decays: [f32; 2]) -> Self {
        Adam { decays: decays.map(rate), ..self }
    }

    /// Sets the number `ε` that keeps quotients finite.
    #[must_use]
    pub fn with_epsilon(self, epsilon: f32) -> Self {
        Adam { epsilon: rate(epsilon), ..self }
    }

    /// Sets the share `w` of the parameters that each step removes, times the rate: AdamW.
    #[must_use]
    pub fn with_weight_decay(self, weight_decay: f32) -> Self {
        Adam { weight_decay: rate(weight_decay), ..self }
    }

    /// Changes parameters by their gradients.
    ///
    /// # Panics
    ///
    /// As [`Sgd::step`].
    #[track_caller]
    pub fn step(&mut self, parameters: &mut P, gradients: &P) {
        struct Step<'a, P: Traverse>(&'a Adam<P>);
        impl<P: Traverse> FloatRule<4, 3> for Step<'_, P> {
            fn apply<T: FloatElement>(&self, [p, g, m, v]: [Array<T>; 4]) -> [Array<T>; 3] {
                let adam = self.0;
                let [a, b] = adam.decays.each_ref().map(Array::cast::<T>);
                let [rate, epsilon, weight_decay] =
                    [&adam.rate, &adam.epsilon, &adam.weight_decay].map(Array::cast::<T>);
                // Computed in single precision, where 1 - 0.999 has digits.
                let [of_mean, of_square] = adam.powers.each_ref().map(|power| (1.0 - power).cast::<T>());
                let square = &g * &g;
                let m = &g + a * (m - &g);
                let v = &square + b * (v - &square);
                let by = (&m / of_mean) / ((&v / of_square).sqrt() + epsilon);
                [&p - &rate * weight_decay * &p - rate * by, m, v]
            }
        }
        self.powers = ad::suspend(|| [0, 1].map(|i| &self.powers[i] * &self.decays[i]));
        let [changed, mean, square] = updated(&Step(self), [parameters, gradients, &self.mean, &self.square]);
        (*parameters, self.mean, self.square) = (changed, mean, square);
    }
}

/// Returns gradients whose norm, over all arrays together, is at most a bound: longer ones are scaled down.
#[must_use]
#[track_caller]
pub fn clip_norm<P: Traverse + Clone>(gradients: &P, bound: f32) -> P {
    struct Squares(std::cell::RefCell<Float>);
    impl FloatRule<1, 1> for Squares {
        fn apply<T: FloatElement>(&self, [g]: [Array<T>; 1]) -> [Array<T>; 1] {
            let sum = &*self.0.borrow() + g.squared_norm().cast::<f32>();
            self.0.replace(sum);
            [g]
        }
    }
    struct Scale(Float);
    impl FloatRule<1, 1> for Scale {
        fn apply<T: FloatElement>(&self, [g]: [Array<T>; 1]) -> [Array<T>; 1] {
            [g * self.0.cast::<T>()]
        }
    }
    let squares = Squares(Float::from(0.0).into());
    let [_] = updated(&squares, [gradients]);
    let norm = squares.0.into_inner().sqrt();
    let scale = ad::suspend(|| norm.gt(bound).select(bound / &norm, 1.0_f32));
    let [clipped] = updated(&Scale(scale), [gradients]);
    clipped
}

/// Returns gradients each of whose elements is between minus a bound and the bound.
#[must_use]
#[track_caller]
pub fn clip_value<P: Traverse + Clone>(gradients: &P, bound: f32) -> P {
    struct Clip(Float);
    impl FloatRule<1, 1> for Clip {
        fn apply<T: FloatElement>(&self, [g]: [Array<T>; 1]) -> [Array<T>; 1] {
            let bound = self.0.cast::<T>();
            [g.clamp(-&bound, &bound)]
        }
    }
    let [clipped] = updated(&Clip(rate(bound)), [gradients]);
    clipped
}
