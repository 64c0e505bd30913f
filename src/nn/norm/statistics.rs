//! Statistics that move towards those of each batch.

use super::Moments;
use crate::nn::Buffer;
use crate::tensor::Tensor;
use crate::{Array, Float64, FloatElement, Size, Traverse};

/// The running mean and variance of each channel, stored in the type `S`.
#[derive(Clone, Debug, Traverse)]
pub struct RunningStatistics<S: FloatElement> {
    /// The running mean of each channel.
    pub running_mean: Buffer<S>,
    /// The running unbiased variance of each channel.
    pub running_var: Buffer<S>,
    /// The number of training calls.
    pub num_batches_tracked: Buffer<i64>,
}

impl<S: FloatElement> RunningStatistics<S> {
    /// Creates those of channels whose mean is zero and whose variance is one.
    #[track_caller]
    pub(super) fn new(channels: usize) -> Self {
        RunningStatistics {
            running_mean: Buffer::new(Tensor::zeros([channels])),
            running_var: Buffer::new(Tensor::ones([channels])),
            num_batches_tracked: Buffer::new(Tensor::from(0_i64)),
        }
    }

    /// Returns them in the type that is computed in, and in a shape that broadcasts.
    #[track_caller]
    pub(super) fn moments<C: FloatElement>(&self, shape: &[Size]) -> Moments<C> {
        let shaped = |buffer: &Buffer<S>| buffer.cast::<C>().reshape(shape.to_vec());
        Moments { mean: shaped(&self.running_mean), variance: shaped(&self.running_var) }
    }

    /// Moves them by a share of the distance to the mean and the unbiased variance of a batch. The moments, of which
    /// the variance is biased, have one number for each channel, and come from `count` numbers each. Without a momentum
    /// the statistics become means over all calls.
    #[track_caller]
    pub(super) fn advance<C: FloatElement>(&mut self, moments: &Moments<C>, count: Size, momentum: Option<f64>) {
        let calls = &*self.num_batches_tracked + 1;
        // Counts are beyond the range of halves.
        let share: Tensor<S> = match momentum {
            Some(momentum) => Tensor::from_array(Array::opaque(S::from_f64(momentum)), [] as [usize; 0]),
            None => calls.cast::<f64>().recip().cast(),
        };
        let unbiased = (Float64::from(count) / Float64::from(count - 1)).cast::<S>();
        let moved = |old: &Tensor<S>, new: Tensor<S>| old + (new - old) * &share;
        let mean = moved(&self.running_mean, moments.mean.detach().cast::<S>().reshape([-1]));
        let variance = moments.variance.detach().cast::<S>().reshape([-1]) * unbiased;
        let variance = moved(&self.running_var, variance);
        self.running_mean.set(&mean);
        self.running_var.set(&variance);
        self.num_batches_tracked.set(&calls);
    }
}
