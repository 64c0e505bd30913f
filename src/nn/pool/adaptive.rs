//! Pooling to a number of results, whatever the length of the input.

use super::windows::{WindowAxis, Windows, maxima, means};
use crate::nn::check::{check_axes, check_reach};
use crate::nn::{Module, is_half};
use crate::tensor::Tensor;
use crate::{FloatElement, Size, Traverse, UInt};

/// Means of the parts of an input `[batch, channels, …]`: each of the last `AXES` axes is divided into so many parts.
///
/// Part `i` of `n` begins at `⌊i · length / n⌋` and ends before `⌈(i + 1) · length / n⌉`, so neighbours may have an
/// element in common, and all do where there are more parts than elements. Sums of halves are computed in single
/// precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Traverse)]
pub struct AdaptiveAvgPool<const AXES: usize> {
    /// The numbers of parts.
    pub parts: [usize; AXES],
}

/// Maxima of the parts of an input: see [`AdaptiveAvgPool`] for the parts, and [`MaxPool`](super::MaxPool).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Traverse)]
pub struct AdaptiveMaxPool<const AXES: usize> {
    /// The numbers of parts.
    pub parts: [usize; AXES],
}

/// [`AdaptiveAvgPool`] of `[batch, channels, length]`.
pub type AdaptiveAvgPool1d = AdaptiveAvgPool<1>;
/// [`AdaptiveAvgPool`] of `[batch, channels, rows, columns]`.
pub type AdaptiveAvgPool2d = AdaptiveAvgPool<2>;
/// [`AdaptiveAvgPool`] of `[batch, channels, planes, rows, columns]`.
pub type AdaptiveAvgPool3d = AdaptiveAvgPool<3>;
/// [`AdaptiveMaxPool`] of `[batch, channels, length]`.
pub type AdaptiveMaxPool1d = AdaptiveMaxPool<1>;
/// [`AdaptiveMaxPool`] of `[batch, channels, rows, columns]`.
pub type AdaptiveMaxPool2d = AdaptiveMaxPool<2>;
/// [`AdaptiveMaxPool`] of `[batch, channels, planes, rows, columns]`.
pub type AdaptiveMaxPool3d = AdaptiveMaxPool<3>;

impl<const AXES: usize> AdaptiveAvgPool<AXES> {
    /// Creates a layer with these numbers of parts.
    #[must_use]
    pub fn new(parts: [usize; AXES]) -> Self {
        AdaptiveAvgPool { parts }
    }
}

impl<const AXES: usize> AdaptiveMaxPool<AXES> {
    /// Creates a layer with these numbers of parts.
    #[must_use]
    pub fn new(parts: [usize; AXES]) -> Self {
        AdaptiveMaxPool { parts }
    }
}

impl<T: FloatElement, const AXES: usize> Module<Tensor<T>> for AdaptiveAvgPool<AXES> {
    type Output = Tensor<T>;

    /// # Panics
    ///
    /// When the input has another number of axes, or an axis without elements.
    #[track_caller]
    fn forward(&mut self, x: &Tensor<T>) -> Tensor<T> {
        let (shape, lengths) = divided("an adaptive average pooling", x, &self.parts);
        let windows = |at: &[UInt]| windows(at, x.size(1), &lengths, &self.parts);
        match is_half::<T>() {
            true => means(&x.cast::<f32>(), shape, windows).cast(),
            false => means(x, shape, windows),
        }
    }
}

impl<T: FloatElement, const AXES: usize> Module<Tensor<T>> for AdaptiveMaxPool<AXES> {
    type Output = Tensor<T>;

    /// # Panics
    ///
    /// When the input has another number of axes, or an axis without elements.
    #[track_caller]
    fn forward(&mut self, x: &Tensor<T>) -> Tensor<T> {
        let (shape, lengths) = divided("an adaptive maximum pooling", x, &self.parts);
        maxima(x, shape, |at| windows(at, x.size(1), &lengths, &self.parts))
    }
}

/// Returns the shape of the result, and the lengths of the axes that are divided.
#[track_caller]
fn divided<T: FloatElement>(layer: &str, x: &Tensor<T>, parts: &[usize]) -> (Vec<Size>, Vec<Size>) {
    check_axes(layer, x, parts.len() + 2..=parts.len() + 2);
    let lengths = x.sizes().split_off(2);
    for (axis, &length) in lengths.iter().enumerate() {
        check_reach(layer, x, axis + 2, Size::from(1), length);
    }
    let mut shape = vec![x.size(0), x.size(1)];
    shape.extend(parts.iter().map(|&parts| Size::from(parts)));
    (shape, lengths)
}

#[track_caller]
fn windows(at: &[UInt], channels: Size, lengths: &[Size], parts: &[usize]) -> Windows {
    let axes = at[2..].iter().zip(lengths).zip(parts).map(|((at, &length), &parts)| {
        let (number, parts) = (UInt::from(length), parts as u32);
        let start = at * &number / parts;
        let end = ((at + 1) * number + (parts - 1)) / parts;
        WindowAxis { length, count: end - &start, start, step: 1 }
    });
    Windows::new(channels, at, axes.collect())
}
