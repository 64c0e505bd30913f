//! Activation functions: functions of each element, as modules and as functions of tensors.
//!
//! Halves are computed in their own type, as the functions of arrays are. No function uses a closure, so that values
//! have the line of the caller.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use super::Module;
use crate::tensor::{Axis, Tensor, keep_dims};
use crate::{Array, FloatElement, Traverse};

/// A constant of an element type.
fn number<T: FloatElement>(value: f64) -> T {
    T::from_f64(value)
}

/// Returns `max(x, 0)`; NaN for NaN.
#[must_use]
#[track_caller]
pub fn relu<T: FloatElement>(x: &Tensor<T>) -> Tensor<T> {
    // In this order the derivative at 0 is 0, and a NaN is not hidden.
    let (of, x) = (x, x.array());
    of.with_array(x.le(T::default()).select(T::default(), x))
}

/// Returns `x` where it is positive, and `slope · x` elsewhere.
#[must_use]
#[track_caller]
pub fn leaky_relu<T: FloatElement>(x: &Tensor<T>, slope: f64) -> Tensor<T> {
    let (of, x) = (x, x.array());
    of.with_array(x.gt(T::default()).select(x, x * number::<T>(slope)))
}

/// Returns `x` where it is positive, and `α (eˣ − 1)` elsewhere: D. Clevert, T. Unterthiner, S. Hochreiter, 2016.
#[must_use]
#[track_caller]
pub fn elu<T: FloatElement>(x: &Tensor<T>, alpha: f64) -> Tensor<T> {
    let (of, x) = (x, x.array());
    of.with_array(x.gt(T::default()).select(x, x.exp_m1() * number::<T>(alpha)))
}

/// Returns `λ x` where it is positive, and `λ α (eˣ − 1)` elsewhere: G. Klambauer et al., “Self-Normalizing Neural
/// Networks”, 2017.
#[must_use]
#[track_caller]
pub fn selu<T: FloatElement>(x: &Tensor<T>) -> Tensor<T> {
    const ALPHA: f64 = 1.673_263_242_354_377_2;
    const SCALE: f64 = 1.050_700_987_355_480_5;
    elu(x, ALPHA) * number::<T>(SCALE)
}

/// Returns `x Φ(x)`, where `Φ` is the distribution function of the normal distribution: D. Hendrycks, K. Gimpel, 2016.
#[must_use]
#[track_caller]
pub fn gelu<T: FloatElement>(x: &Tensor<T>) -> Tensor<T> {
    // By `erfc`, which has no cancellation for negative numbers.
    let (of, x) = (x, x.array());
    of.with_array((x * number::<T>(-FRAC_1_SQRT_2)).erfc() * x * number::<T>(0.5))
}

/// Returns the approximation `x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2` of [`gelu`].
#[must_use]
#[track_caller]
pub fn gelu_tanh<T: FloatElement>(x: &Tensor<T>) -> Tensor<T> {
    let (of, x) = (x, x.array());
    let inner = (x * x * number::<T>(0.044_715) + number::<T>(1.0)) * x * number::<T>((2.0 / PI).sqrt());
    of.with_array((inner.tanh() + number::<T>(1.0)) * x * number::<T>(0.5))
}

/// Returns `x σ(x)`, also called swish.
#[must_use]
#[track_caller]
pub fn silu<T: FloatElement>(x: &Tensor<T>) -> Tensor<T> {
    let (of, x) = (x, x.array());
    of.with_array(x * x.sigmoid())
}

/// Returns `ln(1 + eᵇˣ) / b` without overflow.
#[must_use]
#[track_caller]
pub fn softplus<T: FloatElement>(x: &Tensor<T>, beta: f64) -> Tensor<T> {
    let (of, x) = (x, x.array());
    of.with_array(softplus_of(&(x * number::<T>(beta))) * number::<T>(1.0 / beta))
}

/// Returns `ln(1 + eˣ)`.
#[track_caller]
pub(super) fn softplus_of<T: FloatElement>(x: &Array<T>) -> Array<T> {
    // Not by the maximum of x and 0, whose derivative at 0 is not σ(0).
    let is_positive = x.ge(T::default());
    let rest = is_positive.select(-x, x).exp().ln_1p();
    is_positive.select(x + &rest, &rest)
}

/// Returns `x tanh(ln(1 + eˣ))`: D. Misra, 2019.
#[must_use]
#[track_caller]
pub fn mish<T: FloatElement>(x: &Tensor<T>) -> Tensor<T> {
    let (of, x) = (x, x.array());
    of.with_array(softplus_of(x).tanh() * x)
}

/// Returns `x` between two bounds.
#[must_use]
#[track_caller]
pub fn hardtanh<T: FloatElement>(x: &Tensor<T>, low: f64, high: f64) -> Tensor<T> {
    x.clamp(number::<T>(low), number::<T>(high))
}

/// Returns `eˣ / Σ eˣ` along an axis. Halves are computed in single precision.
#[must_use]
#[track_caller]
pub fn softmax<T: FloatElement>(x: &Tensor<T>, axis: impl Into<Axis>) -> Tensor<T> {
    let axis = axis.into();
    if super::is_half::<T>() {
        return softmax(&x.cast::<f32>(), axis).cast();
    }
    let power = shifted(x, axis).exp();
    &power / power.sum(keep_dims(axis))
}

/// Returns the logarithm of [`softmax`], without overflow. Halves are computed in single precision.
#[must_use]
#[track_caller]
pub fn log_softmax<T: FloatElement>(x: &Tensor<T>, axis: impl Into<Axis>) -> Tensor<T> {
    let axis = axis.into();
    if super::is_half::<T>() {
        return log_softmax(&x.cast::<f32>(), axis).cast();
    }
    let shifted = shifted(x, axis);
    &shifted - shifted.exp().sum(keep_dims(axis)).ln()
}

/// Returns the distance from the largest element along an axis. The result of what follows does not depend on it, so
/// its derivative is not needed.
#[track_caller]
fn shifted<T: FloatElement>(x: &Tensor<T>, axis: Axis) -> Tensor<T> {
    x - x.detach().reduce_max(keep_dims(axis))
}

/// Modules without settings.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident($x:ident) $value:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Traverse)]
        pub struct $name;

        impl<T: FloatElement> Module<Tensor<T>> for $name {
            type Output = Tensor<T>;

            #[track_caller]
            fn forward(&mut self, $x: &Tensor<T>) -> Tensor<T> {
                $value
            }
        }
    )*};
}

functions! {
    /// The module of [`relu`].
    Relu(x) relu(x);
    /// The module of [`selu`].
    Selu(x) selu(x);
    /// The module of [`gelu`].
    Gelu(x) gelu(x);
    /// The module of [`gelu_tanh`].
    GeluTanh(x) gelu_tanh(x);
    /// The module of [`silu`].
    Silu(x) silu(x);
    /// The module of [`mish`].
    Mish(x) mish(x);
    /// The module of [`Tensor::sigmoid`].
    Sigmoid(x) x.sigmoid();
    /// The module of [`Tensor::tanh`].
    Tanh(x) x.tanh();
    /// The module that returns its input.
    Identity(x) x.clone();
}

/// Modules with settings.
macro_rules! functions_with_settings {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $ty:ty = $default:expr),* }
        ($self:ident, $x:ident) $value:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Traverse)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $ty,)*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default),* }
            }
        }

        impl<T: FloatElement> Module<Tensor<T>> for $name {
            type Output = Tensor<T>;

            #[track_caller]
            fn forward(&mut self, $x: &Tensor<T>) -> Tensor<T> {
                let $self = self;
                $value
            }
        }
    )*};
}

functions_with_settings! {
    /// The module of [`leaky_relu`], with slope 0.01 by default.
    LeakyRelu {
        /// The slope below 0.
        slope: f64 = 0.01
    } (of, x) leaky_relu(x, of.slope);
    /// The module of [`elu`], with factor 1 by default.
    Elu {
        /// The factor below 0.
        alpha: f64 = 1.0
    } (of, x) elu(x, of.alpha);
    /// The module of [`softplus`], with factor 1 by default.
    Softplus {
        /// The factor of the argument.
        beta: f64 = 1.0
    } (of, x) softplus(x, of.beta);
    /// The module of [`hardtanh`], with bounds ±1 by default.
    Hardtanh {
        /// The lower bound.
        low: f64 = -1.0,
        /// The upper bound.
        high: f64 = 1.0
    } (of, x) hardtanh(x, of.low, of.high);
    /// The module of [`softmax`], along the last axis by default.
    Softmax {
        /// The axis.
        axis: isize = -1
    } (of, x) softmax(x, of.axis);
    /// The module of [`log_softmax`], along the last axis by default.
    LogSoftmax {
        /// The axis.
        axis: isize = -1
    } (of, x) log_softmax(x, of.axis);
}
