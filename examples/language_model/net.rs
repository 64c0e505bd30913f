//! The network: a transformer that only looks back (A. Radford et al., “Language Models are Unsupervised Multitask
//! Learners”, 2019).

use jit::nn::{Embedding, LayerNorm, Linear, Module, MultiHeadAttention, gelu_tanh};
use jit::prelude::*;
use jit::random::Generator;

/// The number of characters that it looks at.
pub(crate) const CONTEXT: usize = 64;

/// How large a network is.
#[derive(Clone, Copy)]
pub(crate) struct Dimensions {
    /// The length of the vector of a character.
    pub(crate) width: usize,
    /// The number of heads of attention, a divisor of the width.
    pub(crate) heads: usize,
    /// The number of blocks, one after the other.
    pub(crate) blocks: usize,
}

/// Attention, then two linear layers, each added to its input.
#[derive(Clone, Traverse)]
pub(crate) struct Block {
    attention_norm: LayerNorm,
    attention: MultiHeadAttention,
    linear_norm: LayerNorm,
    expand: Linear,
    shrink: Linear,
}

impl Block {
    fn new(Dimensions { width, heads, .. }: Dimensions, rng: &mut Generator) -> Block {
        Block {
            attention_norm: LayerNorm::new([width]),
            attention: MultiHeadAttention::new(width, heads, rng).causal(),
            linear_norm: LayerNorm::new([width]),
            expand: Linear::new(width, 4 * width, rng),
            shrink: Linear::new(4 * width, width, rng),
        }
    }
}

impl Module<Tensor<f32>> for Block {
    type Output = Tensor<f32>;

    fn forward(&mut self, x: &Tensor<f32>) -> Tensor<f32> {
        let x = x + self.attention.forward(&self.attention_norm.forward(x));
        let hidden = gelu_tanh(&self.expand.forward(&self.linear_norm.forward(&x)));
        x + self.shrink.forward(&hidden)
    }
}

/// Computes scores of the next character at each place of a text.
#[derive(Clone, Traverse)]
pub(crate) struct Net {
    characters: Embedding,
    places: Embedding,
    blocks: Vec<Block>,
    norm: LayerNorm,
    head: Linear,
}

impl Net {
    pub(crate) fn new(characters: usize, dimensions: Dimensions, rng: &mut Generator) -> Net {
        let Dimensions { width, blocks, .. } = dimensions;
        Net {
            characters: Embedding::new(characters, width, rng),
            places: Embedding::new(CONTEXT, width, rng),
            blocks: (0..blocks).map(|_| Block::new(dimensions, rng)).collect(),
            norm: LayerNorm::new([width]),
            head: Linear::new(width, characters, rng),
        }
    }
}

impl Module<Tensor<u32>> for Net {
    type Output = Tensor<f32>;

    /// `[batch, length]` to `[batch, length, characters]`.
    fn forward(&mut self, text: &Tensor<u32>) -> Tensor<f32> {
        let places = self.places.forward(&Tensor::<u32>::arange([text.size(1)]));
        let mut x = self.characters.forward(text) + places;
        for block in &mut self.blocks {
            x = block.forward(&x);
        }
        self.head.forward(&self.norm.forward(&x))
    }
}
