//! Transposed convolutional layers.

use super::check::{check_axes, check_axis};
use super::{Module, Parameter, init};
use crate::random::Generator;
use crate::tensor::{Padding, Tensor, Window};
use crate::{FloatElement, Site, Size, Traverse};

/// The transpose of a [convolution](super::Conv) over `AXES` axes, also called deconvolution: each element of the input
/// adds its multiple of a kernel to the place that a convolution would compute it from. See
/// [`Tensor::convolve_transposed`].
///
/// The weight has the shape `[inputs, outputs / groups, …]`, the bias `[outputs]`. Inputs have the shape `[batch,
/// inputs, …]`, results `[batch, outputs, …]`, where an axis of length `n` becomes one of length
/// `(n − 1) · stride − 2 · padding + dilation · (kernel − 1) + 1 + output padding`. Sums of halves are
/// computed in single precision.
///
/// ```
/// use jit::nn::{ConvTransposed2d, Module};
/// use jit::prelude::*;
///
/// let twice: ConvTransposed2d = ConvTransposed2d::new(8, 4, [2, 2], &mut jit::random::rng(1)).with_strides([2, 2]);
/// assert_eq!(twice.infer(&Tensor::<f32>::ones([1, 8, 5, 6])).shape(), [1, 4, 10, 12]);
/// ```
#[derive(Clone, Debug, Traverse)]
pub struct ConvTransposed<T: FloatElement, const AXES: usize> {
    /// The kernels.
    pub weight: Parameter<T>,
    /// What is added to each channel.
    pub bias: Option<Parameter<T>>,
    /// How many elements are left out at each end of the result.
    pub paddings: [usize; AXES],
    /// How many elements are added at the end of each axis: a convolution with a stride has the same result for
    /// several lengths of its input.
    pub output_paddings: [usize; AXES],
    /// The distances between the places of a kernel.
    pub strides: [usize; AXES],
    /// The distances between the elements of a kernel.
    pub dilations: [usize; AXES],
    /// The number of groups of channels.
    pub groups: usize,
}

/// [`ConvTransposed`] of `[batch, channels, length]`.
pub type ConvTransposed1d<T = f32> = ConvTransposed<T, 1>;
/// [`ConvTransposed`] of `[batch, channels, rows, columns]`.
pub type ConvTransposed2d<T = f32> = ConvTransposed<T, 2>;
/// [`ConvTransposed`] of `[batch, channels, planes, rows, columns]`.
pub type ConvTransposed3d<T = f32> = ConvTransposed<T, 3>;

impl<T: FloatElement, const AXES: usize> ConvTransposed<T, AXES> {
    /// Creates a layer with a bias, without padding, whose kernels move by 1. All parameters are uniform in ±1/√n for
    /// `n` elements of the kernels of an input, as in PyTorch.
    #[must_use]
    #[track_caller]
    pub fn new(inputs: usize, outputs: usize, kernel: [usize; AXES], rng: &mut Generator) -> Self {
        ConvTransposed::grouped(inputs, outputs, kernel, 1, rng)
    }

    /// Creates a layer each of whose groups of channels depends on one group of channels of the input.
    #[must_use]
    #[track_caller]
    pub fn grouped(inputs: usize, outputs: usize, kernel: [usize; AXES], groups: usize, rng: &mut Generator) -> Self {
        let mut shape = vec![inputs, outputs / groups.max(1)];
        shape.extend(kernel);
        let bound = init::bound_of_fan(shape[1..].iter().product());
        ConvTransposed {
            weight: Parameter::new(init::uniform(shape, -bound, bound, rng)),
            bias: Some(Parameter::new(init::uniform([outputs], -bound, bound, rng))),
            paddings: [0; AXES],
            output_paddings: [0; AXES],
            strides: [1; AXES],
            dilations: [1; AXES],
            groups,
        }
    }

    /// Removes the bias.
    #[must_use]
    pub fn without_bias(self) -> Self {
        ConvTransposed { bias: None, ..self }
    }

    /// Sets how many elements are left out at each end of the result.
    #[must_use]
    pub fn with_paddings(self, paddings: [usize; AXES]) -> Self {
        ConvTransposed { paddings, ..self }
    }

    /// Sets how many elements are added at the end of each axis; fewer than the stride or the dilation.
    #[must_use]
    pub fn with_output_paddings(self, output_paddings: [usize; AXES]) -> Self {
        ConvTransposed { output_paddings, ..self }
    }

    /// Sets the distances between the places of a kernel.
    #[must_use]
    pub fn with_strides(self, strides: [usize; AXES]) -> Self {
        ConvTransposed { strides, ..self }
    }

    /// Sets the distances between the elements of a kernel.
    #[must_use]
    pub fn with_dilations(self, dilations: [usize; AXES]) -> Self {
        ConvTransposed { dilations, ..self }
    }

    /// Returns the length of an axis of the result.
    #[track_caller]
    fn length_of_result(&self, x: &Tensor<T>, axis: usize) -> Size {
        let (length, kernel) = (x.size(axis + 2), self.weight.size(axis + 2));
        let (stride, dilation, more) = (self.strides[axis], self.dilations[axis], self.output_paddings[axis]);
        if length == 0 || (more > 0 && more >= stride.max(dilation)) {
            self.refuse(x);
        }
        let reach = if kernel == 0 { kernel } else { (kernel - 1) * dilation };
        let (whole, left_out) = ((length - 1) * stride + reach + 1 + more, 2 * self.paddings[axis]);
        if left_out == 0 {
            return whole;
        }
        if whole <= left_out {
            self.refuse(x);
        }
        whole - left_out
    }

    #[cold]
    #[track_caller]
    fn refuse(&self, x: &Tensor<T>) -> ! {
        let what = format!("a transposed convolution got a tensor of shape {:?}", x.sizes());
        jit_core::misuse::Misuse::new(what, Site::here())
            .value("the input", x.array().var())
            .hint(&format!(
                "axes have elements, paddings leave some of the result, and output paddings are below the stride or \
                the dilation; here paddings are {:?}, output paddings {:?}, strides {:?}, dilations {:?}",
                self.paddings, self.output_paddings, self.strides, self.dilations
            ))
            .panic()
    }
}

impl<T: FloatElement, const AXES: usize> Module<Tensor<T>> for ConvTransposed<T, AXES> {
    type Output = Tensor<T>;

    /// # Panics
    ///
    /// When the input has another number of axes or channels, or the paddings leave nothing of the result.
    #[track_caller]
    fn forward(&mut self, x: &Tensor<T>) -> Tensor<T> {
        let _line = crate::enter();
        check_axes("a transposed convolution", x, AXES + 2..=AXES + 2);
        check_axis("a transposed convolution", x, 1, "channels", self.weight.size(0));
        let window = Window {
            paddings: self.paddings.map(Padding::Zeros).to_vec(),
            strides: self.strides.to_vec(),
            dilations: self.dilations.to_vec(),
            groups: self.groups,
        };
        let lengths: Vec<Size> = (0..AXES).map(|axis| self.length_of_result(x, axis)).collect();
        let y = x.convolve_transposed(&self.weight, &window, &lengths);
        let Some(bias) = &self.bias else { return y };
        let mut shape = vec![Size::from(1); AXES + 2];
        shape[1] = bias.size(0);
        y + bias.reshape(shape)
    }
}
