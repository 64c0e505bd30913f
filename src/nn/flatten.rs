//! The layer between convolutions and linear layers.

use super::Module;
use super::check::check_axes;
use crate::tensor::Tensor;
use crate::{Element, Size, Traverse};

/// Makes one axis of all axes but the first one, the batch: `[batch, channels, rows, columns]` becomes
/// `[batch, channels · rows · columns]`.
///
/// ```
/// use jit::nn::{Conv2d, Flatten, Linear, Module, Relu};
/// use jit::prelude::*;
///
/// let mut rng = jit::random::rng(1);
/// let net = (Conv2d::new(1, 4, [3, 3], &mut rng), Relu, Flatten, Linear::new(4 * 6 * 6, 10, &mut rng));
/// assert_eq!(net.infer(&Tensor::<f32>::zeros([5, 1, 8, 8])).shape(), [5, 10]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Traverse)]
pub struct Flatten;

impl<T: Element> Module<Tensor<T>> for Flatten {
    type Output = Tensor<T>;

    /// # Panics
    ///
    /// When the input has no axes.
    #[track_caller]
    fn forward(&mut self, x: &Tensor<T>) -> Tensor<T> {
        check_axes("a flattening layer", x, 1..=usize::MAX);
        let lengths = x.sizes();
        let rest = lengths[1..].iter().fold(Size::from(1), |rest, &length| rest * length);
        x.reshape([lengths[0], rest])
    }
}
