//! Modules with another element type.

use std::marker::PhantomData;

use super::activation::{
    Elu, Gelu, GeluTanh, Hardtanh, Identity, LeakyRelu, LogSoftmax, Mish, Relu, Selu, Sigmoid, Silu, Softmax, Softplus,
    Tanh,
};
use super::{
    AdaptiveAvgPool, AdaptiveMaxPool, AvgPool, Bilinear, Buffer, Conv, ConvTransposed, Dropout, Embedding, Flatten,
    Function, GruStep, Linear, LstmStep, MaxPool, Parameter, RnnStep,
};
use crate::FloatElement;
use crate::tensor::Tensor;

/// A module that exists with parameters of other floats: [`Model::to`](super::Model::to), which converts it.
///
/// The conversion is recorded, so gradients flow through it to the parameters of the original. Layers convert their
/// parameters. Running statistics keep the type that the module names for them, single precision by default.
///
/// A struct with a type parameter [derives](macro@crate::nn::Convert) it: fields whose type mentions the parameter are
/// converted, all others are cloned.
///
/// ```
/// use jit::FloatElement;
/// use jit::nn::{Buffer, Convert, Linear, Model};
/// use jit::prelude::*;
///
/// #[derive(Clone, Traverse, Convert)]
/// struct Net<T: FloatElement> {
///     layer: Linear<T>,
///     mean: Buffer<f32>, // keeps its type
/// }
///
/// let layer: Linear = Linear::new(2, 3, &mut jit::random::rng(1));
/// let net = Net { layer, mean: Buffer::new(Tensor::zeros([3])) };
/// let half: Net<half::f16> = net.half();
/// assert_eq!(half.layer.weight.shape(), [3, 2]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no form with parameters of `{U}`",
    note = "for a module of your own write `#[derive(Clone, Traverse, nn::Convert)] struct Net<T: FloatElement = \
        f32>`, with layers of `T`; other fields are cloned"
)]
pub trait Convert<U: FloatElement> {
    /// The module with these parameters.
    type Output;

    /// Returns the module with its parameters rounded to another type.
    #[must_use]
    #[track_caller]
    fn convert(&self) -> Self::Output;
}

impl<T: FloatElement, U: FloatElement> Convert<U> for Parameter<T> {
    type Output = Parameter<U>;

    #[track_caller]
    fn convert(&self) -> Parameter<U> {
        let mut converted = Parameter::new(self.cast::<U>());
        converted.set_trained(self.is_trained());
        converted
    }
}

impl<T: FloatElement, U: FloatElement> Convert<U> for Buffer<T> {
    type Output = Buffer<U>;

    #[track_caller]
    fn convert(&self) -> Buffer<U> {
        Buffer::new(self.cast::<U>())
    }
}

impl<T: FloatElement, U: FloatElement> Convert<U> for Tensor<T> {
    type Output = Tensor<U>;

    #[track_caller]
    fn convert(&self) -> Tensor<U> {
        self.cast()
    }
}

impl<U: FloatElement, M: Convert<U>> Convert<U> for Option<M> {
    type Output = Option<M::Output>;

    #[track_caller]
    #[expect(clippy::manual_map, reason = "in a closure the reported line would not be that of our caller")]
    fn convert(&self) -> Self::Output {
        match self {
            Some(module) => Some(module.convert()),
            None => None,
        }
    }
}

impl<U: FloatElement, M: Convert<U>> Convert<U> for Vec<M> {
    type Output = Vec<M::Output>;

    fn convert(&self) -> Self::Output {
        self.iter().map(M::convert).collect()
    }
}

impl<U: FloatElement, M: Convert<U>> Convert<U> for Box<M> {
    type Output = Box<M::Output>;

    #[track_caller]
    fn convert(&self) -> Self::Output {
        Box::new((**self).convert())
    }
}

macro_rules! behind_references {
    ($($reference:ty),*) => {$(
        /// So that a method of a reference finds the module behind it.
        impl<U: FloatElement, M: Convert<U>> Convert<U> for $reference {
            type Output = M::Output;

            #[track_caller]
            fn convert(&self) -> Self::Output {
                (**self).convert()
            }
        }
    )*};
}

behind_references!(&M, &mut M);

/// Modules whose fields of the element type are converted, and whose other fields are cloned.
macro_rules! converted {
    ($($name:ident [$($number:ident),*] { $($float:ident),* } { $($other:ident),* })*) => {$(
        impl<T: $crate::FloatElement, U: $crate::FloatElement $(, const $number: usize)*> $crate::nn::Convert<U>
            for $name<T $(, $number)*>
        {
            type Output = $name<U $(, $number)*>;

            #[track_caller]
            fn convert(&self) -> Self::Output {
                $name { $($float: self.$float.convert(),)* $($other: self.$other.clone(),)* }
            }
        }
    )*};
}

pub(super) use converted;

converted! {
    Linear [] { weight, bias } {}
    Bilinear [] { weight, bias } {}
    Embedding [] { weight } { padding }
    Conv [AXES] { weight, bias } { paddings, strides, dilations, groups }
    ConvTransposed [AXES] { weight, bias } { paddings, output_paddings, strides, dilations, groups }
}

/// Modules without parameters.
macro_rules! unchanged {
    ($($name:ident $([$number:ident])?),*) => {$(
        impl<U: FloatElement $(, const $number: usize)?> Convert<U> for $name $(<$number>)? {
            type Output = Self;

            fn convert(&self) -> Self {
                self.clone()
            }
        }
    )*};
}

unchanged! {
    Flatten, Relu, Selu, Gelu, GeluTanh, Silu, Mish, Sigmoid, Tanh, Identity, LeakyRelu, Elu, Softplus, Hardtanh,
    Softmax, LogSoftmax, Dropout, RnnStep, LstmStep, GruStep, MaxPool[AXES], AvgPool[AXES], AdaptiveAvgPool[AXES],
    AdaptiveMaxPool[AXES]
}

impl<T: FloatElement, U: FloatElement> Convert<U> for PhantomData<T> {
    type Output = PhantomData<U>;

    fn convert(&self) -> PhantomData<U> {
        PhantomData
    }
}

impl<U: FloatElement, F: Clone> Convert<U> for Function<F> {
    type Output = Function<F>;

    fn convert(&self) -> Function<F> {
        self.clone()
    }
}

macro_rules! tuples {
    ($([$($name:ident $index:tt)*])*) => {$(
        impl<W: FloatElement, $($name: Convert<W>),*> Convert<W> for ($($name,)*) {
            type Output = ($($name::Output,)*);

            #[track_caller]
            fn convert(&self) -> Self::Output {
                ($(self.$index.convert(),)*)
            }
        }
    )*};
}

tuples! {
    [A 0]
    [A 0 B 1]
    [A 0 B 1 C 2]
    [A 0 B 1 C 2 D 3]
    [A 0 B 1 C 2 D 3 E 4]
    [A 0 B 1 C 2 D 3 E 4 F 5]
    [A 0 B 1 C 2 D 3 E 4 F 5 G 6]
    [A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7]
    [A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8]
    [A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9]
    [A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10]
    [A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11]
}
