//! The networks.

use jit::FloatElement;
use jit::nn::{BatchNorm1d, BatchNorm2d, Conv2d, Convert, Dropout, Linear, MaxPool2d, Module, Relu};
use jit::prelude::*;
use jit::random::Generator;

/// A network with parameters in single precision that computes in the type `H`.
pub(crate) trait Net<H: FloatElement>:
    Convert<H, Output: Runs<H>> + Traverse + Clone + Send + Sync + 'static
{
}

impl<H: FloatElement, M: Convert<H, Output: Runs<H>> + Traverse + Clone + Send + Sync + 'static> Net<H> for M {}

/// What computes the scores of the digits from pixels.
pub(crate) trait Runs<H: FloatElement>: Module<Tensor<H>, Output = Tensor<H>> + Clone {}

impl<H: FloatElement, M: Module<Tensor<H>, Output = Tensor<H>> + Clone> Runs<H> for M {}

type Mlp = (Linear, BatchNorm1d, Relu, Dropout, Linear, BatchNorm1d, Relu, Linear);

/// Creates a network of three linear layers.
pub(crate) fn mlp(rng: &mut Generator) -> Mlp {
    let (first, second, last) = (Linear::new(64, 128, rng), Linear::new(128, 64, rng), Linear::new(64, 10, rng));
    (first, BatchNorm1d::new(128), Relu, Dropout::new(0.2, rng), second, BatchNorm1d::new(64), Relu, last)
}

pub(crate) type Convolutional =
    (Image, (Conv2d, BatchNorm2d, Relu), (Conv2d, BatchNorm2d, Relu, MaxPool2d), Flatten, Linear);

/// Creates a network of two convolutions and a linear layer.
pub(crate) fn conv(rng: &mut Generator) -> Convolutional {
    let first = (Conv2d::new(1, 8, [3, 3], rng).with_paddings([1, 1]), BatchNorm2d::new(8), Relu);
    let second = Conv2d::new(8, 16, [3, 3], rng).with_paddings([1, 1]);
    let second = (second, BatchNorm2d::new(16), Relu, MaxPool2d::new([2, 2]));
    (Image, first, second, Flatten, Linear::new(16 * 4 * 4, 10, rng))
}

/// Makes pictures of one channel, 8 × 8, of rows of pixels.
#[derive(Clone, Copy, Traverse)]
pub(crate) struct Image;

impl<T: FloatElement> Module<Tensor<T>> for Image {
    type Output = Tensor<T>;

    fn forward(&mut self, x: &Tensor<T>) -> Tensor<T> {
        x.reshape([x.size(0), Size::from(1), Size::from(8), Size::from(8)])
    }
}

/// Makes rows of all that a picture has.
#[derive(Clone, Copy, Traverse)]
pub(crate) struct Flatten;

impl<T: FloatElement> Module<Tensor<T>> for Flatten {
    type Output = Tensor<T>;

    fn forward(&mut self, x: &Tensor<T>) -> Tensor<T> {
        x.reshape([x.size(0), x.size(1) * x.size(2) * x.size(3)])
    }
}

impl<H: FloatElement> Convert<H> for Image {
    type Output = Image;

    fn convert(&self) -> Image {
        Image
    }
}

impl<H: FloatElement> Convert<H> for Flatten {
    type Output = Flatten;

    fn convert(&self) -> Flatten {
        Flatten
    }
}
