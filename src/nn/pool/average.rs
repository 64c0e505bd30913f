//! Means of moving windows.

use crate::nn::check::{check_axes, check_reach, check_windows};
use crate::nn::{Module, is_half};
use crate::tensor::{Padding, Tensor, Window};
use crate::{FloatElement, Size, Traverse};

/// Means of windows that move over the last `AXES` axes of `[batch, channels, …]`. Results are `[batch, channels, …]`.
/// Sums of halves are computed in single precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Traverse)]
pub struct AvgPool<const AXES: usize> {
    /// The lengths of the windows.
    pub kernel: [usize; AXES],
    /// The distances between windows; those of a new layer are the lengths of windows.
    pub strides: [usize; AXES],
    /// How far windows extend beyond each edge, where elements are zero; at most half of their length.
    pub paddings: [usize; AXES],
    /// Whether zeros beyond the edges count in a mean; as in a new layer.
    pub counts_padding: bool,
}

/// [`AvgPool`] of `[batch, channels, length]`.
pub type AvgPool1d = AvgPool<1>;
/// [`AvgPool`] of `[batch, channels, rows, columns]`.
pub type AvgPool2d = AvgPool<2>;
/// [`AvgPool`] of `[batch, channels, planes, rows, columns]`.
pub type AvgPool3d = AvgPool<3>;

impl<const AXES: usize> AvgPool<AXES> {
    /// Creates a layer of windows side by side.
    #[must_use]
    pub fn new(kernel: [usize; AXES]) -> Self {
        AvgPool { kernel, strides: kernel, paddings: [0; AXES], counts_padding: true }
    }

    /// Sets the distances between windows.
    #[must_use]
    pub fn with_strides(self, strides: [usize; AXES]) -> Self {
        AvgPool { strides, ..self }
    }

    /// Sets how far windows extend beyond each edge.
    #[must_use]
    pub fn with_paddings(self, paddings: [usize; AXES]) -> Self {
        AvgPool { paddings, ..self }
    }

    /// Makes means those of the elements inside of the edges alone.
    #[must_use]
    pub fn without_counted_padding(self) -> Self {
        AvgPool { counts_padding: false, ..self }
    }

    #[track_caller]
    fn pool<C: FloatElement>(&self, x: &Tensor<C>) -> Tensor<C> {
        let window = Window {
            paddings: self.paddings.map(Padding::Zeros).to_vec(),
            strides: self.strides.to_vec(),
            dilations: vec![1; AXES],
            groups: 1,
        };
        let mut kernel = vec![1, 1];
        kernel.extend(self.kernel);
        let ones = Tensor::<C>::ones(kernel);
        // Each channel is an image of its own.
        let sizes = x.sizes();
        let mut planes = vec![sizes[0] * sizes[1], Size::from(1)];
        planes.extend(&sizes[2..]);
        let sums = x.reshape(planes.clone()).convolve(&ones, &window);
        let mut shape = sums.sizes();
        shape.splice(..2, [sizes[0], sizes[1]]);
        let means = if self.counts_padding || self.paddings.iter().all(|&padding| padding == 0) {
            sums / C::from_f64(self.kernel.iter().product::<usize>() as f64)
        } else {
            planes[0] = Size::from(1);
            sums / Tensor::ones(planes).convolve(&ones, &window)
        };
        means.reshape(shape)
    }
}

impl<T: FloatElement, const AXES: usize> Module<Tensor<T>> for AvgPool<AXES> {
    type Output = Tensor<T>;

    /// # Panics
    ///
    /// When the input has another number of axes or is smaller than a window, a stride is 0, or the padding is more
    /// than half of a window.
    #[track_caller]
    fn forward(&mut self, x: &Tensor<T>) -> Tensor<T> {
        check_axes("an average pooling", x, AXES + 2..=AXES + 2);
        for axis in 0..AXES {
            let is_possible = self.strides[axis] > 0 && self.kernel[axis] > 0;
            let is_possible = is_possible && 2 * self.paddings[axis] <= self.kernel[axis];
            check_windows("an average pooling", x, self, is_possible);
            let padded = x.size(axis + 2) + 2 * self.paddings[axis];
            check_reach("an average pooling", x, axis + 2, self.kernel[axis].into(), padded);
        }
        match is_half::<T>() {
            true => self.pool(&x.cast::<f32>()).cast(),
            false => self.pool(x),
        }
    }
}
