//! Normalisations: elements minus their mean, divided by their standard deviation.
//!
//! They differ in the elements that share a mean: those of a channel of a batch (`batch`), of a channel of one sample
//! (`instance`), of a group of channels (`group`), of trailing axes (`layer`). Variances are means of squared distances
//! from the mean, in two passes, because the difference of the mean square and the squared mean would cancel.

mod batch;
mod group;
mod instance;
mod layer;
mod statistics;

pub use batch::{BatchNorm, BatchNorm1d, BatchNorm2d, BatchNorm3d};
pub use group::GroupNorm;
pub use instance::{InstanceNorm, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d};
pub use layer::{LayerNorm, RmsNorm};
pub use statistics::RunningStatistics;

use super::Parameter;
use crate::tensor::{Tensor, keep_dims};
use crate::{FloatElement, Size};

/// The number ε that keeps quotients finite, as in PyTorch.
const EPSILON: f64 = 1e-5;

/// Mean and variance; both broadcast against what they belong to.
struct Moments<C: FloatElement> {
    mean: Tensor<C>,
    variance: Tensor<C>,
}

impl<C: FloatElement> Moments<C> {
    /// Returns mean and biased variance over some axes, which are kept with length 1.
    #[track_caller]
    fn of(x: &Tensor<C>, axes: &[isize]) -> Self {
        let mean = x.mean(keep_dims(axes));
        let variance = (x - &mean).map(|x| x.square()).mean(keep_dims(axes));
        Moments { mean, variance }
    }

    /// Returns `γ (x − mean) / √(variance + ε) + β`.
    #[track_caller]
    fn normalise(self, x: &Tensor<C>, epsilon: f64, affine: &Affine<C>) -> Tensor<C> {
        let scale = (self.variance + C::from_f64(epsilon)).rsqrt();
        affine.apply(&(x - self.mean), scale)
    }
}

/// Factors and summands, which broadcast against what is normalised.
struct Affine<C: FloatElement> {
    weight: Option<Tensor<C>>,
    bias: Option<Tensor<C>>,
}

impl<C: FloatElement> Affine<C> {
    /// Brings parameters to a shape and to the type that is computed in.
    #[track_caller]
    fn new<T: FloatElement>(weight: Option<&Parameter<T>>, bias: Option<&Parameter<T>>, shape: &[Size]) -> Self {
        let shaped = |parameter: &Parameter<T>| parameter.cast::<C>().reshape(shape.to_vec());
        Affine { weight: weight.map(shaped), bias: bias.map(shaped) }
    }

    /// Returns `γ · scale · x + β`.
    #[track_caller]
    fn apply(&self, x: &Tensor<C>, scale: Tensor<C>) -> Tensor<C> {
        let y = match &self.weight {
            Some(weight) => x * (scale * weight),
            None => x * scale,
        };
        match &self.bias {
            Some(bias) => y + bias,
            None => y,
        }
    }
}

/// Returns the shape of one number for each channel, which broadcasts against a tensor of `ndim` axes.
fn channel_shape(channels: usize, axis: usize, ndim: usize) -> Vec<Size> {
    let mut shape = vec![Size::from(1); ndim];
    shape[axis] = channels.into();
    shape
}

/// Creates factors of one and summands of zero.
#[track_caller]
fn identity<T: FloatElement>(shape: &[usize]) -> (Option<Parameter<T>>, Option<Parameter<T>>) {
    (Some(Parameter::new(Tensor::ones(shape))), Some(Parameter::new(Tensor::zeros(shape))))
}

/// Panics if so few numbers share a mean that they have no variance.
#[track_caller]
fn check_count<T: FloatElement>(what: &str, x: &Tensor<T>, count: Size) {
    if count < 2 {
        let what = format!("{what} of shape {:?} has one number in each channel, which has no variance", x.sizes());
        jit_core::misuse::Misuse::new(what, crate::Site::here())
            .value("the input", x.array().var())
            .hint("train with larger inputs, or evaluate a layer with running statistics")
            .panic()
    }
}
