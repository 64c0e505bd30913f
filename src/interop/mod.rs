//! Conversions between tensors and other crates or libraries. Those for a crate need the feature with its name.
//!
//! | feature | conversions |
//! |---|---|
//! | `ndarray` | [`Tensor`](crate::tensor::Tensor) from any `ndarray` array or view; [`Tensor::to_ndarray`](crate::tensor::Tensor) |
//! | `image` | [`Tensor`](crate::tensor::Tensor) from any picture of `image`; `Tensor::to_image` |
//! | `candle` | tensors from and to those of `candle-core`, and functions in its graphs: `interop::candle` |
//! | none | [`dlpack`]: tensors of other libraries, in place where that is possible |
//! | none | slices and vectors: [`Array::from`](crate::Array), [`Array::view`](crate::Array::view) |
//!
//! Elements are copied once in each direction, except by [`dlpack`] and by views: arrays own their memory, which
//! kernels may write while the host continues.

#[cfg(feature = "candle")]
pub mod candle;
pub mod dlpack;
#[cfg(feature = "image")]
mod image;
#[cfg(feature = "ndarray")]
mod ndarray;
mod strides;
