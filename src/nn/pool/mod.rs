//! Pooling: maxima and means of the elements in windows.
//!
//! Axes are those behind batch and channels. Windows are those of kernels that move over an axis (`moving`), or divide
//! an axis into a number of parts (`adaptive`). A maximum is read from the place where it is, so gradients flow to that
//! place alone; a mean of moving windows is a [convolution](Tensor::convolve) with ones.

mod adaptive;
mod average;
mod max;
mod windows;

pub use adaptive::{
    AdaptiveAvgPool, AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool, AdaptiveMaxPool1d,
    AdaptiveMaxPool2d, AdaptiveMaxPool3d,
};
pub use average::{AvgPool, AvgPool1d, AvgPool2d, AvgPool3d};
pub use max::{MaxPool, MaxPool1d, MaxPool2d, MaxPool3d};

#[cfg(doc)]
use crate::tensor::Tensor;
