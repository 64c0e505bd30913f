//! Attention with several heads, between linear layers.

use super::scaled::Attention;
use crate::nn::check::{check_axes, check_axis};
use crate::nn::{Dropout, Linear, Module, Parameter, init, linear};
use crate::random::Generator;
use crate::s;
use crate::tensor::Tensor;
use crate::{FloatElement, Size, Traverse};

/// Attention with several heads: queries, keys and values are linear functions of the inputs, each head attends with
/// its part of them, and a linear layer combines what the heads found (A. Vaswani et al., “Attention Is All You Need”,
/// 2017).
///
/// Inputs and results have the shape `[batch, length, width]`. As a module of one tensor it attends to that tensor
/// itself; as a module of three, the first one has the queries, the others the sources of keys and values.
/// [`MultiHeadAttention::attend`] has masks.
///
/// ```
/// use jit::nn::{Module, MultiHeadAttention};
/// use jit::prelude::*;
///
/// let layer: MultiHeadAttention = MultiHeadAttention::new(32, 4, &mut jit::random::rng(1)).causal();
/// assert_eq!(layer.infer(&Tensor::<f32>::ones([2, 7, 32])).shape(), [2, 7, 32]);
/// ```
#[derive(Clone, Debug, Traverse)]
pub struct MultiHeadAttention<T: FloatElement = f32> {
    /// The matrices of queries, keys and values, one below the other: `[3 · width, width]`.
    pub in_proj_weight: Parameter<T>,
    /// What is added to them, `[3 · width]`.
    pub in_proj_bias: Option<Parameter<T>>,
    /// The layer that combines the heads.
    pub out_proj: Linear<T>,
    /// Whether no place attends to those behind it.
    pub is_causal: bool,
    /// The dropout of weights.
    pub dropout: Option<Dropout>,
    heads: usize,
}

crate::nn::convert::converted! {
    MultiHeadAttention [] { in_proj_weight, in_proj_bias, out_proj } { is_causal, dropout, heads }
}

impl<T: FloatElement> MultiHeadAttention<T> {
    /// Creates a layer with biases, which are zero. Weights have the initial values that PyTorch's have: uniform, by
    /// [Xavier](init::xavier_uniform) those of the inputs.
    ///
    /// # Panics
    ///
    /// When the width is no multiple of the heads.
    #[must_use]
    #[track_caller]
    pub fn new(width: usize, heads: usize, rng: &mut Generator) -> Self {
        if heads == 0 || !width.is_multiple_of(heads) {
            let what = format!("a width of {width} cannot be divided among {heads} heads");
            jit_core::misuse::Misuse::new(what, crate::Site::here())
                .hint("the width is a multiple of the number of heads")
                .panic();
        }
        let mut out_proj = Linear::new(width, width, rng);
        out_proj.bias = Some(Parameter::new(Tensor::zeros([width])));
        MultiHeadAttention {
            in_proj_weight: Parameter::new(init::xavier_uniform([3 * width, width], 1.0, rng)),
            in_proj_bias: Some(Parameter::new(Tensor::zeros([3 * width]))),
            out_proj,
            is_causal: false,
            dropout: None,
            heads,
        }
    }

    /// Removes the biases.
    #[must_use]
    pub fn without_bias(self) -> Self {
        MultiHeadAttention { in_proj_bias: None, out_proj: self.out_proj.without_bias(), ..self }
    }

    /// Makes no place attend to those behind it.
    #[must_use]
    pub fn causal(self) -> Self {
        MultiHeadAttention { is_causal: true, ..self }
    }

    /// Sets weights to zero with a probability in training.
    #[must_use]
    #[track_caller]
    pub fn with_dropout(self, probability: f64, rng: &mut Generator) -> Self {
        MultiHeadAttention { dropout: Some(Dropout::new(probability, rng)), ..self }
    }

    /// Returns what queries find in keys and values, with masks and other settings. Masks broadcast to `[batch, heads,
    /// targets, sources]`.
    ///
    /// # Panics
    ///
    /// When an input has another number of axes or another width, or the shapes do not fit together.
    #[track_caller]
    pub fn attend(
        &mut self,
        queries: &Tensor<T>,
        keys: &Tensor<T>,
        values: &Tensor<T>,
        attention: &Attention<T>,
    ) -> Tensor<T> {
        // No closure, so that the reported line is that of our caller.
        let (q, k, v) = (self.heads_of(queries, 0), self.heads_of(keys, 1), self.heads_of(values, 2));
        let found = attention.attend_with(&q, &k, &v, &mut self.dropout);
        let joined = found.swap_axes(1, 2).reshape(queries.sizes());
        self.out_proj.forward(&joined)
    }

    /// Returns the queries, keys or values of all heads: `[batch, heads, length, width of a head]`.
    #[track_caller]
    fn heads_of(&self, x: &Tensor<T>, part: usize) -> Tensor<T> {
        let width = self.in_proj_weight.size(1);
        check_axes("attention", x, 3..=3);
        check_axis("attention", x, -1, "features", width);
        let rows = width.get() * part..width.get() * (part + 1);
        let bias = self.in_proj_bias.as_ref().map(|bias| bias.slice(s![rows.clone()]));
        let y = linear(x, &self.in_proj_weight.slice(s![rows]), bias.as_ref());
        let heads = Size::from(self.heads);
        y.reshape([x.size(0), x.size(1), heads, width / heads]).swap_axes(1, 2)
    }

    fn attention(&self) -> Attention<T> {
        Attention { is_causal: self.is_causal, ..Attention::new() }
    }
}

impl<T: FloatElement> Module<Tensor<T>> for MultiHeadAttention<T> {
    type Output = Tensor<T>;

    /// # Panics
    ///
    /// As [`MultiHeadAttention::attend`].
    #[track_caller]
    fn forward(&mut self, x: &Tensor<T>) -> Tensor<T> {
        self.attend(x, x, x, &self.attention())
    }
}

impl<T: FloatElement> Module<(Tensor<T>, Tensor<T>, Tensor<T>)> for MultiHeadAttention<T> {
    type Output = Tensor<T>;

    /// # Panics
    ///
    /// As [`MultiHeadAttention::attend`].
    #[track_caller]
    fn forward(&mut self, (queries, keys, values): &(Tensor<T>, Tensor<T>, Tensor<T>)) -> Tensor<T> {
        self.attend(queries, keys, values, &self.attention())
    }
}
