//! Normalisation of groups of channels.

use jit_core::misuse::Misuse;

use super::{Affine, EPSILON, Moments, channel_shape, identity};
use crate::nn::check::{check_axes, check_axis};
use crate::nn::{Module, Parameter, is_half};
use crate::tensor::Tensor;
use crate::{FloatElement, Site, Size, Traverse};

/// Normalisation of each group of channels of each sample, `[batch, channels, …]` (Y. Wu, K. He, “Group Normalization”,
/// 2018). Factors and summands are those of channels. Halves are computed in single precision.
#[derive(Clone, Debug, Traverse)]
pub struct GroupNorm<T: FloatElement = f32> {
    /// The factors γ, one for each channel.
    pub weight: Option<Parameter<T>>,
    /// The summands β, one for each channel.
    pub bias: Option<Parameter<T>>,
    /// The number ε that keeps quotients finite; 10⁻⁵.
    pub epsilon: f64,
    groups: usize,
    channels: usize,
}

crate::nn::convert::converted! {
    GroupNorm [] { weight, bias } { epsilon, groups, channels }
}

impl<T: FloatElement> GroupNorm<T> {
    /// Creates a layer whose factors are one and summands zero.
    ///
    /// # Panics
    ///
    /// When the channels do not fill the groups.
    #[must_use]
    #[track_caller]
    pub fn new(groups: usize, channels: usize) -> Self {
        if groups == 0 || !channels.is_multiple_of(groups) {
            Misuse::new(format!("{channels} channels do not fill {groups} groups"), Site::here())
                .hint("the number of channels is a multiple of the number of groups")
                .panic();
        }
        let (weight, bias) = identity(&[channels]);
        GroupNorm { weight, bias, epsilon: EPSILON, groups, channels }
    }

    /// Removes factors and summands.
    #[must_use]
    pub fn without_affine(self) -> Self {
        GroupNorm { weight: None, bias: None, ..self }
    }

    /// Sets the number ε that keeps quotients finite.
    #[must_use]
    pub fn with_epsilon(self, epsilon: f64) -> Self {
        GroupNorm { epsilon, ..self }
    }

    #[track_caller]
    fn normalise<C: FloatElement>(&self, x: &Tensor<C>) -> Tensor<C> {
        let sizes = x.sizes();
        let rest = sizes[2..].iter().fold(Size::from(1), |rest, &length| rest * length);
        let each = rest * (self.channels / self.groups);
        let grouped = x.reshape([sizes[0], Size::from(self.groups), each]);
        let moments = Moments::of(&grouped, &[2]);
        let none = Affine { weight: None, bias: None };
        let y = moments.normalise(&grouped, self.epsilon, &none).reshape(sizes);
        let shape = channel_shape(self.channels, 1, x.ndim());
        let affine = Affine::<C>::new(self.weight.as_ref(), self.bias.as_ref(), &shape);
        let y = affine.weight.map_or(y.clone(), |weight| y * weight);
        affine.bias.map_or(y.clone(), |bias| y + bias)
    }
}

impl<T: FloatElement> Module<Tensor<T>> for GroupNorm<T> {
    type Output = Tensor<T>;

    /// # Panics
    ///
    /// When the input has fewer than two axes, or another number of channels.
    #[track_caller]
    fn forward(&mut self, x: &Tensor<T>) -> Tensor<T> {
        check_axes("a group normalisation", x, 2..=usize::MAX);
        check_axis("a group normalisation", x, 1, "channels", self.channels.into());
        match is_half::<T>() {
            true => self.normalise(&x.cast::<f32>()).cast(),
            false => self.normalise(x),
        }
    }
}
