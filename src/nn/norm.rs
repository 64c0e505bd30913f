//! Normalisation over batches.

use super::check::{check_axes, check_axis};
use super::{Buffer, Mode, Module, Parameter};
use crate::tensor::{Tensor, keep_dims};
use crate::{Array, FloatElement, Size, Traverse};

/// Normalisation over a batch: `y = γ (x − mean) / √(variance + ε) + β` for each channel, the second axis (S. Ioffe,
/// C. Szegedy, “Batch Normalization”, 2015). Inputs have `LEAST` to `MOST` axes.
///
/// In training, mean and biased variance are those of the batch, and the running statistics move towards the mean and
/// the unbiased variance by the momentum, `r ← (1 − m) r + m s`, once for each call. In evaluation they are the running
/// statistics. All of it is computed in the type `S` of the statistics, single precision for halves too; results have
/// the type of the input.
#[derive(Clone, Debug, Traverse)]
pub struct BatchNorm<T: FloatElement, S: FloatElement, const LEAST: usize, const MOST: usize> {
    /// The factors γ, one for each channel.
    pub weight: Parameter<T>,
    /// The summands β, one for each channel.
    pub bias: Parameter<T>,
    /// The running mean of each channel.
    pub running_mean: Buffer<S>,
    /// The running variance of each channel.
    pub running_var: Buffer<S>,
    /// The number of training calls.
    pub num_batches_tracked: Buffer<i64>,
    /// The number ε that keeps quotients finite; 10⁻⁵.
    pub epsilon: f64,
    /// The momentum; 0.1. Without one, running statistics are the means over all calls.
    pub momentum: Option<f64>,
    /// Whether the layer trains.
    pub mode: Mode,
}

/// [`BatchNorm`] of `[batch, channels]` or `[batch, channels, length]`.
pub type BatchNorm1d<T = f32, S = f32> = BatchNorm<T, S, 2, 3>;
/// [`BatchNorm`] of `[batch, channels, rows, columns]`.
pub type BatchNorm2d<T = f32, S = f32> = BatchNorm<T, S, 4, 4>;
/// [`BatchNorm`] of `[batch, channels, planes, rows, columns]`.
pub type BatchNorm3d<T = f32, S = f32> = BatchNorm<T, S, 5, 5>;

impl<T: FloatElement, S: FloatElement, const LEAST: usize, const MOST: usize> BatchNorm<T, S, LEAST, MOST> {
    /// Creates a layer whose factors are one and summands zero.
    #[must_use]
    #[track_caller]
    pub fn new(channels: usize) -> Self {
        BatchNorm {
            weight: Parameter::new(Tensor::ones([channels])),
            bias: Parameter::new(Tensor::zeros([channels])),
            running_mean: Buffer::new(Tensor::zeros([channels])),
            running_var: Buffer::new(Tensor::ones([channels])),
            num_batches_tracked: Buffer::new(Tensor::from(0_i64)),
            epsilon: 1e-5,
            momentum: Some(0.1),
            mode: Mode::Train,
        }
    }

    /// Moves the running statistics towards those of a batch of `count` numbers in each channel.
    #[track_caller]
    fn advance(&mut self, mean: &Tensor<S>, variance: &Tensor<S>, count: Size) {
        let calls = &*self.num_batches_tracked + 1;
        let share: Tensor<S> = match self.momentum {
            Some(momentum) => Tensor::from_array(Array::from(S::from_f64(momentum)), [] as [usize; 0]),
            None => calls.cast::<S>().recip(),
        };
        let unbiased = variance * (Array::<S>::from(count) / Array::<S>::from(count - 1));
        let moved = |old: &Tensor<S>, new: &Tensor<S>| old + (new - old) * &share;
        let mean = moved(&self.running_mean, &mean.reshape([-1]));
        let variance = moved(&self.running_var, &unbiased.reshape([-1]));
        self.running_mean.set(&mean);
        self.running_var.set(&variance);
        self.num_batches_tracked.set(&calls);
    }
}

impl<T: FloatElement, S: FloatElement, const LEAST: usize, const MOST: usize> Module<Tensor<T>>
    for BatchNorm<T, S, LEAST, MOST>
{
    type Output = Tensor<T>;

    /// # Panics
    ///
    /// When the input has another number of axes or channels, or a single number in each channel in training.
    #[track_caller]
    fn forward(&mut self, x: &Tensor<T>) -> Tensor<T> {
        check_axes("a batch normalisation", x, LEAST..=MOST);
        check_axis("a batch normalisation", x, 1, "channels", self.weight.size(0));
        let mut shape = vec![Size::from(1); x.ndim()];
        shape[1] = self.weight.size(0);
        let wide = x.cast::<S>();
        let (mean, variance) = if self.mode.is_train() {
            let axes: Vec<isize> = (0..x.ndim() as isize).filter(|&axis| axis != 1).collect();
            let count = axes.iter().fold(Size::from(1), |count, &axis| count * x.size(axis));
            check_count(x, count);
            let mean = wide.mean(keep_dims(axes.clone()));
            let variance = (&wide - &mean).map(|x| x.square()).mean(keep_dims(axes));
            crate::ad::suspend(|| self.advance(&mean.detach(), &variance.detach(), count));
            (mean, variance)
        } else {
            (self.running_mean.reshape(shape.clone()), self.running_var.reshape(shape.clone()))
        };
        let scale = (variance + S::from_f64(self.epsilon)).rsqrt() * self.weight.cast::<S>().reshape(shape.clone());
        ((wide - mean) * scale + self.bias.cast::<S>().reshape(shape)).cast()
    }
}

/// Panics if a batch has no variance.
#[track_caller]
fn check_count<T: FloatElement>(x: &Tensor<T>, count: Size) {
    if count < 2 {
        let what = format!("a batch of shape {:?} has one number in each channel, which has no variance", x.sizes());
        jit_core::misuse::Misuse::new(what, crate::Site::here())
            .value("the input", x.array().var())
            .hint("train with larger batches, or call `eval` on the module")
            .panic()
    }
}
