//! Conversions between tensors and other crates. Each conversion needs the feature with the name of the crate.
//!
//! | feature | conversions |
//! |---|---|
//! | `ndarray` | [`Tensor`](crate::tensor::Tensor) from any `ndarray` array or view; [`Tensor::to_ndarray`](crate::tensor::Tensor) |
//! | `image` | [`Tensor`](crate::tensor::Tensor) from any picture of `image`; `Tensor::to_image` |
//!
//! Elements are copied once in each direction: arrays own their memory, which kernels may write while the host
//! continues.

#[cfg(feature = "image")]
mod image;
#[cfg(feature = "ndarray")]
mod ndarray;
