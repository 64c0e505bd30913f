//! Embeddings.

use super::{Module, Parameter, init};
use crate::random::Generator;
use crate::tensor::Tensor;
use crate::{FloatElement, Integer, Traverse};

/// A table of vectors: each number of the input becomes the row of this number.
///
/// The weight has the shape `[count, width]`. Inputs are integers of any shape, results have the width as an additional
/// last axis. The derivative by the weight is a sum over the places where a row was read. Numbers beyond the table
/// yield zeros, and are an error in debug mode, as with [`Array::gather`](crate::Array::gather).
///
/// ```
/// use jit::nn::{Embedding, Module};
/// use jit::prelude::*;
///
/// let words: Embedding = Embedding::new(1000, 16, &mut jit::random::rng(1));
/// assert_eq!(words.infer(&Tensor::from([[4u32, 7, 7], [999, 0, 4]])).shape(), [2, 3, 16]);
/// ```
#[derive(Clone, Debug, Traverse)]
pub struct Embedding<T: FloatElement = f32> {
    /// The vectors, `[count, width]`.
    pub weight: Parameter<T>,
    /// The number of the vector that is not trained, as that of a filler at the end of sentences.
    pub padding: Option<usize>,
}

impl<T: FloatElement> Embedding<T> {
    /// Creates a table of normal numbers.
    #[must_use]
    #[track_caller]
    pub fn new(count: usize, width: usize, rng: &mut Generator) -> Self {
        Embedding { weight: Parameter::new(init::normal([count, width], 0.0, 1.0, rng)), padding: None }
    }

    /// Makes the vector of a number zero, and stops its training.
    ///
    /// # Panics
    ///
    /// When the table has no such row.
    #[must_use]
    #[track_caller]
    pub fn with_padding(mut self, number: usize) -> Self {
        let mut table = (*self.weight).clone();
        table.set(crate::s![number], T::default());
        self.weight.set(table);
        Embedding { padding: Some(number), ..self }
    }
}

impl<T: FloatElement, I: Integer> Module<Tensor<I>> for Embedding<T> {
    type Output = Tensor<T>;

    #[track_caller]
    fn forward(&mut self, numbers: &Tensor<I>) -> Tensor<T> {
        let numbers = super::as_indices(numbers);
        let vectors = self.weight.take(0, &numbers);
        let Some(padding) = self.padding else { return vectors };
        let is_padding = numbers.eq(padding as u32).expand_dims(-1);
        is_padding.select(vectors.detach(), vectors)
    }
}
