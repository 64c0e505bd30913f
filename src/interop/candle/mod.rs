//! Tensors from and to `candle-core`, and functions of each library in graphs of the other. Needs the feature `candle`.
//!
//! [`Tensor::try_from`](crate::tensor::Tensor) copies the elements of a tensor of candle to the current device, in any
//! layout: once if they are in row-major order, otherwise they are put into it first. `tensor.to_candle()` copies them
//! once. [`Exchange`] has both for arrays, too. There is no way without a copy: every owner of a tensor of candle may
//! write its memory, through `Var::set` or `slice_set`, while kernels would read it; and candle owns its memory as a
//! `Vec`, which cannot have the alignment that kernels need. Gradients do not flow through a copy; they flow through
//! operations, as below.
//!
//! ```
//! use candle_core::Device;
//! use jit::prelude::*;
//!
//! let theirs = candle_core::Tensor::new(&[[1.0f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
//! let ours = Tensor::<f32>::try_from(&theirs.t()?)? * 2.0;
//! assert_eq!(ours.to_candle()?.to_vec2::<f32>()?, [[2.0, 6.0], [4.0, 8.0]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A function of ours in a graph of candle
//!
//! [`function`] makes an operation of candle of a function, a closure, a `#[jit]` or a `#[freeze]` function. Candle
//! differentiates through it:
//!
//! ```
//! use candle_core::{Device, Var};
//! use jit::interop::candle::function;
//! use jit::prelude::*;
//!
//! #[freeze]
//! fn wave(x: &Tensor<f32>, frequency: &Tensor<f32>) -> Tensor<f32> {
//!     (x * frequency).map(|phase| phase.sin())
//! }
//!
//! let x = candle_core::Tensor::new(&[0.0f32, 1.0, 2.0], &Device::Cpu)?;
//! let frequency = Var::new(&[0.5f32], &Device::Cpu)?;
//! let loss = x.apply_op2(&frequency, function("wave", wave))?.sum_all()?;
//! let slope = loss.backward()?.get(&frequency).unwrap().to_vec1::<f32>()?[0];
//! assert!((slope - (0.5f32.cos() + 2.0 * 1.0f32.cos())).abs() < 1e-5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A function of candle in a graph of ours
//!
//! is a [`CustomOp`](crate::ad::CustomOp). It reads its input, so a `#[freeze]` function cannot record it.
//!
//! ```
//! use candle_core::Var;
//! use jit::ad::{self, CustomOp};
//! use jit::interop::candle;
//! use jit::prelude::*;
//!
//! struct Gelu;
//!
//! impl CustomOp for Gelu {
//!     type Input = Tensor<f32>;
//!     type Output = Tensor<f32>;
//!     type Saved = Tensor<f32>;
//!
//!     fn forward(&self, x: &Tensor<f32>) -> (Tensor<f32>, Tensor<f32>) {
//!         let theirs = x.to_candle().expect("the input has values");
//!         let y = theirs.gelu_erf().expect("the input is of floats");
//!         ((&y).try_into().expect("the result is of floats on the host"), x.clone())
//!     }
//!
//!     fn backward(&self, x: &Tensor<f32>, gradient: &Tensor<f32>) -> jit::Result<Tensor<f32>> {
//!         let (x, gradient) = (x.to_candle()?, gradient.to_candle()?);
//!         let pulled_back = || {
//!             let x = Var::from_tensor(&x)?;
//!             let gradients = (x.gelu_erf()? * gradient)?.sum_all()?.backward()?;
//!             Ok(gradients.get(&x).expect("the sum depends on it").clone())
//!         };
//!         (&pulled_back().map_err(candle::error)?).try_into()
//!     }
//! }
//!
//! let (_, pull_back) = ad::vjp(|x: &Tensor<f32>| jit::custom(Gelu, x), &Tensor::from([0.0f32, 8.0]))?;
//! assert_eq!(pull_back(&Tensor::from([2.0f32, 3.0]))?.to_vec()?, [1.0, 3.0]);
//! # Ok::<(), jit::Error>(())
//! ```

mod exchange;
mod function;

pub use exchange::{CandleElement, Exchange};
pub use function::{Body, Function, function};

use crate::{Error, ErrorKind, Site};

/// Returns an error of candle as one of this library, for operations of ours that call candle.
#[must_use]
#[track_caller]
pub fn error(error: candle_core::Error) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("candle refuses: {error}")).at(Site::here()).caused_by(error)
}
