//! Modules of neural networks: layers, losses, initial values, state by name.
//!
//! A module is an ordinary value, a struct of [`Parameter`]s, [`Buffer`]s and other modules that derives `Traverse`. So
//! derivatives, optimisers, frozen functions and saved states see all of it, and its `forward` is traced like any other
//! function.
//!
//! ```
//! use jit::nn::{self, Linear, Module, Relu};
//! use jit::optim::Adam;
//! use jit::prelude::*;
//!
//! type Net = (Linear, Relu, Linear);
//!
//! #[freeze]
//! fn step(net: &mut Net, adam: &mut Adam<Net>, x: &Tensor<f32>, y: &Tensor<u32>) -> Tensor<f32> {
//!     let loss = |net: &mut Net| nn::cross_entropy(&net.forward(x), y);
//!     let (loss, gradient) = nn::value_and_grad(net, loss).expect("the loss has derivatives");
//!     adam.step(net, &gradient);
//!     loss
//! }
//!
//! let mut rng = jit::random::rng(1);
//! let mut net: Net = (Linear::new(2, 16, &mut rng), Relu, Linear::new(16, 2, &mut rng));
//! let mut adam = Adam::new(&net, 0.05);
//! let x = Tensor::from([[0.0f32, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]);
//! let y = Tensor::from([0u32, 1, 1, 0]);
//! for _ in 0..100 {
//!     step(&mut net, &mut adam, &x, &y);
//! }
//! assert_eq!(net.infer(&x).argmax(1).to_vec()?, [0, 1, 1, 0]);
//! # Ok::<(), jit::Error>(())
//! ```
//!
//! | to | write |
//! |---|---|
//! | differentiate a loss by the parameters | [`value_and_grad`] |
//! | switch between training and evaluation | [`Model::train`], [`Model::eval`]; [`Module::infer`] evaluates a copy |
//! | stop the training of a part | [`Model::freeze`] |
//! | compute without gradients | [`ad::suspend`](crate::ad::suspend) |
//! | compute in another element type | [`Model::half`], [`Model::to`] |
//! | copy, change or compare the state | [`Model::state_dict`], [`Model::load_state_dict`] |
//! | keep all that training needs to continue | [`StateDict::checkpoint`] of model, optimiser and generators |
//! | record `forward` once, and replay it | [`jit::trace`](crate::trace()), [`Traced`] |
//! | see what there is | [`Model::summary`] |
//!
//! Formulas and settings are those of PyTorch's modules of the same names.

mod activation;
mod attention;
mod check;
mod conv;
mod conv_transposed;
mod convert;
mod data;
mod dropout;
mod embedding;
mod flatten;
mod gradients;
pub mod init;
mod kind;
mod linear;
mod loss;
mod mode;
mod model;
mod module;
mod norm;
mod operators;
mod parameter;
mod pool;
mod recurrent;
#[cfg(feature = "safetensors")]
mod safetensors;
mod sequential;
mod state;
mod summary;
pub(crate) mod traced;

pub use activation::{
    Elu, Gelu, GeluTanh, Hardtanh, Identity, LeakyRelu, LogSoftmax, Mish, Relu, Selu, Sigmoid, Silu, Softmax, Softplus,
    Tanh, elu, gelu, gelu_tanh, hardtanh, leaky_relu, log_softmax, mish, relu, selu, silu, softmax, softplus,
};
pub use attention::{Attention, MultiHeadAttention, scaled_dot_product_attention};
pub use conv::{Conv, Conv1d, Conv2d, Conv3d};
pub use conv_transposed::{ConvTransposed, ConvTransposed1d, ConvTransposed2d, ConvTransposed3d};
pub use convert::Convert;
pub use data::{Batches, DataLoader};
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use flatten::Flatten;
pub use gradients::value_and_grad;
pub use kind::Kind;
pub use linear::{Bilinear, Linear, linear};
pub use loss::{
    BceLoss, BceWithLogitsLoss, CrossEntropy, HuberLoss, KlDivLoss, L1Loss, MseLoss, Reduction, SmoothL1Loss, bce_loss,
    bce_with_logits_loss, cross_entropy, huber_loss, kl_div_loss, l1_loss, mse_loss, nll_loss, smooth_l1_loss,
};
pub use mode::Mode;
pub use model::Model;
pub use module::{Function, Module};
pub use norm::{
    BatchNorm, BatchNorm1d, BatchNorm2d, BatchNorm3d, GroupNorm, InstanceNorm, InstanceNorm1d, InstanceNorm2d,
    InstanceNorm3d, LayerNorm, RmsNorm, RunningStatistics,
};
pub use parameter::{Buffer, Parameter};
pub use pool::{
    AdaptiveAvgPool, AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool, AdaptiveMaxPool1d,
    AdaptiveMaxPool2d, AdaptiveMaxPool3d, AvgPool, AvgPool1d, AvgPool2d, AvgPool3d, MaxPool, MaxPool1d, MaxPool2d,
    MaxPool3d,
};
pub use recurrent::{
    Cell, Gru, GruCell, GruStep, Lstm, LstmCell, LstmStep, Recurrent, Rnn, RnnCell, RnnStep, Step, Weights,
    WeightsOfLayers,
};
pub use sequential::Sequential;
pub use state::{LoadOptions, LoadReport, StateDict};
pub use summary::Summary;
pub use traced::Traced;

#[doc(inline)]
pub use jit_macros::Convert;

pub(crate) use kind::{are_parameters, are_trained};
pub(crate) use model::change_settings;
pub(crate) use state::path_of;

use crate::tensor::Tensor;
use crate::{Element, Integer};

/// Returns numbers of classes or rows as indices. Those that have no such index, negative ones among them, become the
/// largest one, which is always out of range.
#[track_caller]
fn as_indices<I: Integer>(numbers: &Tensor<I>) -> Tensor<u32> {
    let indices = numbers.cast::<u32>();
    if I::TYPE.bits() <= 32 {
        return indices;
    }
    let fits = numbers.cast::<u64>().lt(1_u64 << 32);
    fits.select(indices, u32::MAX)
}

/// Returns whether elements have 16 bits, so that what adds up is computed in single precision.
fn is_half<T: Element>() -> bool {
    T::TYPE.is_float() && T::TYPE.bits() == 16
}
