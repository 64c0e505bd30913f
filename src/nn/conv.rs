//! Convolutional layers.

use super::check::{check_axes, check_axis};
use super::{Module, Parameter, init};
use crate::random::Generator;
use crate::tensor::{Padding, Tensor, Window};
use crate::{FloatElement, Size, Traverse};

/// A convolution over `AXES` axes: each result is the sum of the products of a kernel and the elements at its place,
/// plus a bias. See [`Tensor::convolve`].
///
/// The weight has the shape `[outputs, inputs / groups, …]`, the bias `[outputs]`. Inputs have the shape `[batch,
/// inputs, …]`, results `[batch, outputs, …]`. Sums of halves are computed in single precision.
#[derive(Clone, Debug, Traverse)]
pub struct Conv<T: FloatElement, const AXES: usize> {
    /// The kernels.
    pub weight: Parameter<T>,
    /// What is added to each channel.
    pub bias: Option<Parameter<T>>,
    /// Zeros on each side of each axis.
    pub paddings: [usize; AXES],
    /// The distances between the places of a kernel.
    pub strides: [usize; AXES],
    /// The distances between the elements of a kernel.
    pub dilations: [usize; AXES],
    /// The number of groups of channels.
    pub groups: usize,
}

/// [`Conv`] of `[batch, channels, length]`.
pub type Conv1d<T = f32> = Conv<T, 1>;
/// [`Conv`] of `[batch, channels, rows, columns]`.
pub type Conv2d<T = f32> = Conv<T, 2>;
/// [`Conv`] of `[batch, channels, planes, rows, columns]`.
pub type Conv3d<T = f32> = Conv<T, 3>;

impl<T: FloatElement, const AXES: usize> Conv<T, AXES> {
    /// Creates a layer with a bias, without padding, whose kernels move by 1. All parameters are uniform in ±1/√n for
    /// `n` products in a sum, as in PyTorch.
    #[must_use]
    #[track_caller]
    pub fn new(inputs: usize, outputs: usize, kernel: [usize; AXES], rng: &mut Generator) -> Self {
        Conv::grouped(inputs, outputs, kernel, 1, rng)
    }

    /// Creates a layer each of whose groups of channels depends on one group of channels of the input.
    #[must_use]
    #[track_caller]
    pub fn grouped(inputs: usize, outputs: usize, kernel: [usize; AXES], groups: usize, rng: &mut Generator) -> Self {
        let mut shape = vec![outputs, inputs / groups.max(1)];
        shape.extend(kernel);
        let bound = init::bound_of_fan(shape[1..].iter().product());
        let weight = Parameter::new(init::uniform(shape, -bound, bound, rng));
        let bias = Parameter::new(init::uniform([outputs], -bound, bound, rng));
        Conv { weight, bias: Some(bias), paddings: [0; AXES], strides: [1; AXES], dilations: [1; AXES], groups }
    }

    /// Removes the bias.
    #[must_use]
    pub fn without_bias(self) -> Self {
        Conv { bias: None, ..self }
    }

    /// Sets the zeros on each side of each axis.
    #[must_use]
    pub fn with_paddings(self, paddings: [usize; AXES]) -> Self {
        Conv { paddings, ..self }
    }

    /// Sets the distances between the places of a kernel.
    #[must_use]
    pub fn with_strides(self, strides: [usize; AXES]) -> Self {
        Conv { strides, ..self }
    }

    /// Sets the distances between the elements of a kernel.
    #[must_use]
    pub fn with_dilations(self, dilations: [usize; AXES]) -> Self {
        Conv { dilations, ..self }
    }
}

impl<T: FloatElement, const AXES: usize> Module<Tensor<T>> for Conv<T, AXES> {
    type Output = Tensor<T>;

    /// # Panics
    ///
    /// When the input has another number of axes or channels, or is smaller than a kernel.
    #[track_caller]
    fn forward(&mut self, x: &Tensor<T>) -> Tensor<T> {
        check_axes("a convolution", x, AXES + 2..=AXES + 2);
        check_axis("a convolution", x, 1, "channels", self.weight.size(1) * self.groups);
        let window = Window {
            paddings: self.paddings.map(Padding::Zeros).to_vec(),
            strides: self.strides.to_vec(),
            dilations: self.dilations.to_vec(),
            groups: self.groups,
        };
        let y = x.convolve(&self.weight, &window);
        let Some(bias) = &self.bias else { return y };
        let mut shape = vec![Size::from(1); AXES + 2];
        shape[1] = bias.size(0);
        y + bias.reshape(shape)
    }
}
