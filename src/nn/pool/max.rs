//! Maxima of moving windows.

use super::windows::{WindowAxis, Windows, maxima};
use crate::nn::Module;
use crate::nn::check::{check_axes, check_reach, check_windows};
use crate::tensor::Tensor;
use crate::{FloatElement, Size, Traverse, UInt};

/// Maxima of windows that move over the last `AXES` axes of `[batch, channels, …]`. Results are `[batch, channels, …]`.
///
/// Elements beyond the edges do not count. Gradients flow to the first largest element of each window.
///
/// ```
/// use jit::nn::{MaxPool1d, Module};
/// use jit::prelude::*;
///
/// let x = Tensor::from([[[1.0f32, 3.0, 2.0, 0.0, 5.0]]]);
/// assert_eq!(MaxPool1d::new([2]).infer(&x).to_vec()?, [3.0, 2.0]);
/// # Ok::<(), jit::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Traverse)]
pub struct MaxPool<const AXES: usize> {
    /// The lengths of the windows.
    pub kernel: [usize; AXES],
    /// The distances between windows; those of a new layer are the lengths of windows.
    pub strides: [usize; AXES],
    /// How far windows extend beyond each edge; at most half of their length.
    pub paddings: [usize; AXES],
    /// The distances between the elements of a window.
    pub dilations: [usize; AXES],
}

/// [`MaxPool`] of `[batch, channels, length]`.
pub type MaxPool1d = MaxPool<1>;
/// [`MaxPool`] of `[batch, channels, rows, columns]`.
pub type MaxPool2d = MaxPool<2>;
/// [`MaxPool`] of `[batch, channels, planes, rows, columns]`.
pub type MaxPool3d = MaxPool<3>;

impl<const AXES: usize> MaxPool<AXES> {
    /// Creates a layer of windows side by side.
    #[must_use]
    pub fn new(kernel: [usize; AXES]) -> Self {
        MaxPool { kernel, strides: kernel, paddings: [0; AXES], dilations: [1; AXES] }
    }

    /// Sets the distances between windows.
    #[must_use]
    pub fn with_strides(self, strides: [usize; AXES]) -> Self {
        MaxPool { strides, ..self }
    }

    /// Sets how far windows extend beyond each edge.
    #[must_use]
    pub fn with_paddings(self, paddings: [usize; AXES]) -> Self {
        MaxPool { paddings, ..self }
    }

    /// Sets the distances between the elements of a window.
    #[must_use]
    pub fn with_dilations(self, dilations: [usize; AXES]) -> Self {
        MaxPool { dilations, ..self }
    }
}

impl<T: FloatElement, const AXES: usize> Module<Tensor<T>> for MaxPool<AXES> {
    type Output = Tensor<T>;

    /// # Panics
    ///
    /// When the input has another number of axes or is smaller than a window, a stride or dilation is 0, or the padding
    /// is more than half of a window.
    #[track_caller]
    fn forward(&mut self, x: &Tensor<T>) -> Tensor<T> {
        check_axes("a maximum pooling", x, AXES + 2..=AXES + 2);
        let sizes = x.sizes();
        let mut shape = vec![sizes[0], sizes[1]];
        for axis in 0..AXES {
            let reach = self.dilations[axis] * (self.kernel[axis].max(1) - 1) + 1;
            let padded = sizes[axis + 2] + 2 * self.paddings[axis];
            let is_possible = self.dilations[axis] > 0 && self.strides[axis] > 0;
            let is_possible = is_possible && 2 * self.paddings[axis] <= self.kernel[axis] && self.kernel[axis] > 0;
            check_windows("a maximum pooling", x, self, is_possible);
            check_reach("a maximum pooling", x, axis + 2, reach.into(), padded);
            shape.push((padded - reach) / self.strides[axis] + 1);
        }
        maxima(x, shape, |at| {
            let axes = (0..AXES).map(|axis| WindowAxis {
                length: sizes[axis + 2],
                start: &at[axis + 2] * self.strides[axis] as u32 - self.paddings[axis] as u32,
                count: UInt::from(Size::from(self.kernel[axis])),
                step: self.dilations[axis] as u32,
            });
            Windows::new(sizes[1], at, axes.collect())
        })
    }
}
