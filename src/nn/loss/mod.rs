//! Losses: how far an output is from what was wanted.
//!
//! A loss of tensors is computed element by element, or class by class, and reduced. Each function here returns the
//! mean; the types of the same names have settings: another [`Reduction`], weights, smoothing. Losses of halves are
//! computed in single precision and rounded once, at the end.

mod classes;
mod elements;

pub use classes::{CrossEntropy, cross_entropy, nll_loss};
pub use elements::{
    BceLoss, BceWithLogitsLoss, HuberLoss, KlDivLoss, L1Loss, MseLoss, SmoothL1Loss, bce_loss, bce_with_logits_loss,
    huber_loss, kl_div_loss, l1_loss, mse_loss, smooth_l1_loss,
};

use crate::tensor::Tensor;
use crate::{FloatElement, Traverse};

/// What becomes of the losses of the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Traverse)]
pub enum Reduction {
    /// All of them are returned.
    None,
    /// Their sum, without axes.
    Sum,
    /// Their mean, without axes.
    #[default]
    Mean,
    /// Their sum, divided by the length of the first axis: the mean over a batch of distributions.
    BatchMean,
}

impl Reduction {
    #[track_caller]
    fn of<T: FloatElement>(self, losses: Tensor<T>) -> Tensor<T> {
        match self {
            Reduction::None => losses,
            Reduction::Sum => losses.sum(..),
            Reduction::Mean => losses.mean(..),
            Reduction::BatchMean => losses.sum(..) / crate::Array::<T>::from(losses.size(0)),
        }
    }
}
