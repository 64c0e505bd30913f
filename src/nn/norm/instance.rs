//! Normalisation of each channel of each sample.

use super::statistics::RunningStatistics;
use super::{Affine, EPSILON, Moments, channel_shape, check_count, identity};
use crate::nn::check::{check_axes, check_axis};
use crate::nn::{Convert, Mode, Module, Parameter};
use crate::tensor::{Tensor, keep_dims};
use crate::{FloatElement, Size, Traverse};

/// Normalisation of each channel of each sample over its `AXES` last axes (D. Ulyanov et al., “Instance
/// Normalization”, 2016). Inputs are `[batch, channels, …]`, or `[channels, …]`.
///
/// A new layer has no parameters. With [running statistics](InstanceNorm::with_statistics), training moves them towards
/// the mean over the batch, and evaluation uses them instead of those of the sample. Types are those of
/// [`BatchNorm`](super::BatchNorm): statistics are stored as `S` and computed as `C`.
#[derive(Clone, Debug, Traverse)]
pub struct InstanceNorm<T: FloatElement, S: FloatElement, C: FloatElement, const AXES: usize> {
    /// The factors γ, one for each channel.
    pub weight: Option<Parameter<T>>,
    /// The summands β, one for each channel.
    pub bias: Option<Parameter<T>>,
    /// The statistics of evaluation.
    #[traverse(rename = "")]
    pub statistics: Option<RunningStatistics<S>>,
    /// The number ε that keeps quotients finite; 10⁻⁵.
    pub epsilon: f64,
    /// The momentum; 0.1. Without one, running statistics are the means over all calls.
    pub momentum: Option<f64>,
    /// Whether the layer trains.
    pub mode: Mode,
    channels: usize,
    computed: std::marker::PhantomData<C>,
}

/// [`InstanceNorm`] of `[batch, channels, length]`.
pub type InstanceNorm1d<T = f32, S = f32, C = S> = InstanceNorm<T, S, C, 1>;
/// [`InstanceNorm`] of `[batch, channels, rows, columns]`.
pub type InstanceNorm2d<T = f32, S = f32, C = S> = InstanceNorm<T, S, C, 2>;
/// [`InstanceNorm`] of `[batch, channels, planes, rows, columns]`.
pub type InstanceNorm3d<T = f32, S = f32, C = S> = InstanceNorm<T, S, C, 3>;

impl<T: FloatElement, const AXES: usize> InstanceNorm<T, f32, f32, AXES> {
    /// Creates a layer without parameters and running statistics. It stores and computes in single precision; layers of
    /// other types are made by [`InstanceNorm::of_types`].
    #[must_use]
    #[track_caller]
    pub fn new(channels: usize) -> Self {
        InstanceNorm::of_types(channels)
    }
}

impl<T: FloatElement, S: FloatElement, C: FloatElement, const AXES: usize> InstanceNorm<T, S, C, AXES> {
    /// Like [`InstanceNorm::new`], of any types: `InstanceNorm1d::<f16, f16>::of_types(8)` stores and computes in
    /// halves.
    #[must_use]
    #[track_caller]
    pub fn of_types(channels: usize) -> Self {
        InstanceNorm {
            weight: None,
            bias: None,
            statistics: None,
            epsilon: EPSILON,
            momentum: Some(0.1),
            mode: Mode::Train,
            channels,
            computed: std::marker::PhantomData,
        }
    }

    /// Adds factors of one and summands of zero.
    #[must_use]
    #[track_caller]
    pub fn with_affine(self) -> Self {
        let (weight, bias) = identity(&[self.channels]);
        InstanceNorm { weight, bias, ..self }
    }

    /// Adds running statistics.
    #[must_use]
    #[track_caller]
    pub fn with_statistics(self) -> Self {
        InstanceNorm { statistics: Some(RunningStatistics::new(self.channels)), ..self }
    }

    /// Sets the number ε that keeps quotients finite.
    #[must_use]
    pub fn with_epsilon(self, epsilon: f64) -> Self {
        InstanceNorm { epsilon, ..self }
    }

    /// Returns the moments of each sample; running statistics move towards their mean over the batch.
    #[track_caller]
    fn moments_of_samples(&mut self, x: &Tensor<C>) -> Moments<C> {
        let axes: Vec<isize> = (-(AXES as isize)..0).collect();
        let count = axes.iter().fold(Size::from(1), |count, &axis| count * x.size(axis));
        check_count("an input", x, count);
        let moments = Moments::of(x, &axes);
        if let Some(statistics) = &mut self.statistics {
            crate::ad::suspend(|| {
                let over_batch = |x: &Tensor<C>| if x.ndim() > AXES + 1 { x.mean(keep_dims(0)) } else { x.clone() };
                let means = Moments { mean: over_batch(&moments.mean), variance: over_batch(&moments.variance) };
                statistics.advance(&means, count, self.momentum);
            });
        }
        moments
    }
}

impl<T: FloatElement, S: FloatElement, C: FloatElement, const AXES: usize> Module<Tensor<T>>
    for InstanceNorm<T, S, C, AXES>
{
    type Output = Tensor<T>;

    /// # Panics
    ///
    /// When the input has another number of axes or channels, or a single number in each channel whose variance is
    /// needed.
    #[track_caller]
    fn forward(&mut self, x: &Tensor<T>) -> Tensor<T> {
        check_axes("an instance normalisation", x, AXES + 1..=AXES + 2);
        let axis = x.ndim() - AXES - 1;
        check_axis("an instance normalisation", x, axis as isize, "channels", self.channels.into());
        let shape = channel_shape(self.channels, axis, x.ndim());
        let wide = x.cast::<C>();
        let moments = match &self.statistics {
            Some(statistics) if !self.mode.is_train() => statistics.moments(&shape),
            _ => self.moments_of_samples(&wide),
        };
        let affine = Affine::new(self.weight.as_ref(), self.bias.as_ref(), &shape);
        moments.normalise(&wide, self.epsilon, &affine).cast()
    }
}

/// Running statistics, and what is computed, keep their types.
impl<T: FloatElement, U: FloatElement, S: FloatElement, C: FloatElement, const AXES: usize> Convert<U>
    for InstanceNorm<T, S, C, AXES>
{
    type Output = InstanceNorm<U, S, C, AXES>;

    #[track_caller]
    fn convert(&self) -> Self::Output {
        InstanceNorm {
            weight: self.weight.convert(),
            bias: self.bias.convert(),
            statistics: self.statistics.clone(),
            epsilon: self.epsilon,
            momentum: self.momentum,
            mode: self.mode,
            channels: self.channels,
            computed: self.computed,
        }
    }
}
