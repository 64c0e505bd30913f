//! Normalisation over batches.

use super::statistics::RunningStatistics;
use super::{Affine, EPSILON, Moments, channel_shape, check_count, identity};
use crate::nn::check::{check_axes, check_axis};
use crate::nn::{Convert, Mode, Module, Parameter};
use crate::tensor::Tensor;
use crate::{FloatElement, Size, Traverse};

/// Normalisation over a batch: `y = γ (x − mean) / √(variance + ε) + β` for each channel, the second axis (S. Ioffe,
/// C. Szegedy, “Batch Normalization”, 2015). Inputs have `LEAST` to `MOST` axes.
///
/// In training, mean and biased variance are those of the batch, and the running statistics move towards the mean and
/// the unbiased variance by the momentum, `r ← (1 − m) r + m s`, once for each call. In evaluation they are the running
/// statistics, if the layer has some.
///
/// Running statistics are stored in the type `S`, and all of it is computed in the type `C`; results have the type of
/// the input. The two are independent: by default both are single precision, for halves too, and
/// `BatchNorm1d<f16, f32, f16>` stores in single precision what it computes in halves.
#[derive(Clone, Debug, Traverse)]
pub struct BatchNorm<T: FloatElement, S: FloatElement, C: FloatElement, const LEAST: usize, const MOST: usize> {
    /// The factors γ, one for each channel.
    pub weight: Option<Parameter<T>>,
    /// The summands β, one for each channel.
    pub bias: Option<Parameter<T>>,
    /// The statistics of evaluation; without them it uses those of its batch. In a
    /// [state](crate::nn::Model::state_dict) they are beside the weight.
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

/// [`BatchNorm`] of `[batch, channels]` or `[batch, channels, length]`.
pub type BatchNorm1d<T = f32, S = f32, C = S> = BatchNorm<T, S, C, 2, 3>;
/// [`BatchNorm`] of `[batch, channels, rows, columns]`.
pub type BatchNorm2d<T = f32, S = f32, C = S> = BatchNorm<T, S, C, 4, 4>;
/// [`BatchNorm`] of `[batch, channels, planes, rows, columns]`.
pub type BatchNorm3d<T = f32, S = f32, C = S> = BatchNorm<T, S, C, 5, 5>;

impl<T: FloatElement, const LEAST: usize, const MOST: usize> BatchNorm<T, f32, f32, LEAST, MOST> {
    /// Creates a layer whose factors are one and summands zero. It stores and computes in single precision; layers of
    /// other types are made by [`BatchNorm::of_types`].
    #[must_use]
    #[track_caller]
    pub fn new(channels: usize) -> Self {
        BatchNorm::of_types(channels)
    }
}

impl<T: FloatElement, S: FloatElement, C: FloatElement, const LEAST: usize, const MOST: usize>
    BatchNorm<T, S, C, LEAST, MOST>
{
    /// Like [`BatchNorm::new`], of any types: `BatchNorm1d::<f16, f16>::of_types(8)` stores and computes in halves.
    #[must_use]
    #[track_caller]
    pub fn of_types(channels: usize) -> Self {
        let (weight, bias) = identity(&[channels]);
        BatchNorm {
            weight,
            bias,
            statistics: Some(RunningStatistics::new(channels)),
            epsilon: EPSILON,
            momentum: Some(0.1),
            mode: Mode::Train,
            channels,
            computed: std::marker::PhantomData,
        }
    }

    /// Removes factors and summands.
    #[must_use]
    pub fn without_affine(self) -> Self {
        BatchNorm { weight: None, bias: None, ..self }
    }

    /// Removes the running statistics: evaluation uses those of its batch, too.
    #[must_use]
    pub fn without_statistics(self) -> Self {
        BatchNorm { statistics: None, ..self }
    }

    /// Sets the momentum of the running statistics; without one they are means over all calls.
    #[must_use]
    pub fn with_momentum(self, momentum: Option<f64>) -> Self {
        BatchNorm { momentum, ..self }
    }

    /// Sets the number ε that keeps quotients finite.
    #[must_use]
    pub fn with_epsilon(self, epsilon: f64) -> Self {
        BatchNorm { epsilon, ..self }
    }
}

impl<T: FloatElement, S: FloatElement, C: FloatElement, const LEAST: usize, const MOST: usize> Module<Tensor<T>>
    for BatchNorm<T, S, C, LEAST, MOST>
{
    type Output = Tensor<T>;

    /// # Panics
    ///
    /// When the input has another number of axes or channels, or a single number in each channel whose variance is
    /// needed.
    #[track_caller]
    fn forward(&mut self, x: &Tensor<T>) -> Tensor<T> {
        check_axes("a batch normalisation", x, LEAST..=MOST);
        check_axis("a batch normalisation", x, 1, "channels", self.channels.into());
        let shape = channel_shape(self.channels, 1, x.ndim());
        let wide = x.cast::<C>();
        let moments = match &self.statistics {
            Some(statistics) if !self.mode.is_train() => statistics.moments(&shape),
            _ => {
                let axes: Vec<isize> = (0..x.ndim() as isize).filter(|&axis| axis != 1).collect();
                let count = axes.iter().fold(Size::from(1), |count, &axis| count * x.size(axis));
                check_count("a batch", x, count);
                let moments = Moments::of(&wide, &axes);
                if let Some(statistics) = &mut self.statistics {
                    crate::ad::suspend(|| statistics.advance(&moments, count, self.momentum));
                }
                moments
            }
        };
        let affine = Affine::new(self.weight.as_ref(), self.bias.as_ref(), &shape);
        moments.normalise(&wide, self.epsilon, &affine).cast()
    }
}

/// Running statistics, and what is computed, keep their types.
impl<T: FloatElement, U: FloatElement, S: FloatElement, C: FloatElement, const LEAST: usize, const MOST: usize>
    Convert<U> for BatchNorm<T, S, C, LEAST, MOST>
{
    type Output = BatchNorm<U, S, C, LEAST, MOST>;

    #[track_caller]
    fn convert(&self) -> Self::Output {
        BatchNorm {
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
