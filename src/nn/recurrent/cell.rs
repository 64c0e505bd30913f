//! Single steps.

use jit_core::misuse::Misuse;

use super::direction::Weights;
use super::step::{GruStep, LstmStep, RnnStep, Step};
use crate::nn::check::{check_axes, check_axis};
use crate::nn::{Convert, Module};
use crate::random::Generator;
use crate::tensor::Tensor;
use crate::{FloatElement, Site, Traverse};

/// One step of a recurrent layer: an input `[batch, inputs]` and a state of tensors `[batch, width]` become the next
/// state.
///
/// ```
/// use jit::nn::LstmCell;
/// use jit::prelude::*;
///
/// let mut cell: LstmCell = LstmCell::new(3, 8, &mut jit::random::rng(1));
/// let mut state = cell.initial_state(&Tensor::<f32>::ones([5, 3]));
/// for _ in 0..4 {
///     state = cell.step(&Tensor::ones([5, 3]), &state);
/// }
/// assert_eq!(state[0].shape(), [5, 8]);
/// ```
#[derive(Clone, Debug, Traverse)]
pub struct Cell<T: FloatElement, K: Step> {
    /// The parameters.
    #[traverse(rename = "")]
    pub weights: Weights<T>,
    /// The kind of step and its settings.
    pub kind: K,
}

/// A [`Cell`] of a layer of [`RnnStep`]s.
pub type RnnCell<T = f32> = Cell<T, RnnStep>;
/// A [`Cell`] of a long short-term memory: [`LstmStep`].
pub type LstmCell<T = f32> = Cell<T, LstmStep>;
/// A [`Cell`] of gated recurrent units: [`GruStep`].
pub type GruCell<T = f32> = Cell<T, GruStep>;

impl<T: FloatElement, K: Step> Cell<T, K> {
    /// Creates a cell with biases. All parameters are uniform in ±1/√width, as in PyTorch.
    #[must_use]
    #[track_caller]
    pub fn new(inputs: usize, width: usize, rng: &mut Generator) -> Self {
        Cell { weights: Weights::new(K::GATES, inputs, width, String::new(), rng), kind: K::default() }
    }

    /// Removes the biases.
    #[must_use]
    pub fn without_bias(self) -> Self {
        Cell { weights: self.weights.without_bias(), ..self }
    }

    /// Returns the state of zeros for an input.
    #[must_use]
    #[track_caller]
    pub fn initial_state(&self, x: &Tensor<T>) -> Vec<Tensor<T>> {
        check_axes("a recurrent cell", x, 2..=2);
        vec![Tensor::zeros([x.size(0), self.weights.weight_hh.size(1)]); K::STATES]
    }

    /// Returns the state after a step; its first tensor is the result.
    ///
    /// # Panics
    ///
    /// When the input has another number of axes or features, or the state another number of tensors or shape.
    #[must_use]
    #[track_caller]
    pub fn step(&self, x: &Tensor<T>, state: &[Tensor<T>]) -> Vec<Tensor<T>> {
        check_axes("a recurrent cell", x, 2..=2);
        check_axis("a recurrent cell", x, -1, "features", self.weights.weight_ih.size(1));
        check_state::<K, T>(state, &[x.size(0), self.weights.weight_hh.size(1)]);
        self.weights.next(&self.kind, &self.weights.of_input(x), state)
    }
}

/// The input and the state before become the state after.
impl<T: FloatElement, K: Step> Module<(Tensor<T>, Vec<Tensor<T>>)> for Cell<T, K> {
    type Output = Vec<Tensor<T>>;

    /// # Panics
    ///
    /// As [`Cell::step`].
    #[track_caller]
    fn forward(&mut self, (x, state): &(Tensor<T>, Vec<Tensor<T>>)) -> Vec<Tensor<T>> {
        self.step(x, state)
    }
}

/// Panics unless a state has the tensors that a kind of step needs.
#[track_caller]
pub(super) fn check_state<K: Step, T: FloatElement>(state: &[Tensor<T>], shape: &[crate::Size]) {
    if state.len() != K::STATES || state.iter().any(|part| part.sizes() != shape) {
        let shapes: Vec<_> = state.iter().map(Tensor::sizes).collect();
        Misuse::new(format!("a recurrent layer got a state of tensors of shapes {shapes:?}"), Site::here())
            .hint(&format!("its state has {} of shape {shape:?}", K::STATES))
            .panic();
    }
}

impl<T: FloatElement, U: FloatElement, K: Step> Convert<U> for Cell<T, K> {
    type Output = Cell<U, K>;

    #[track_caller]
    fn convert(&self) -> Cell<U, K> {
        Cell { weights: self.weights.convert(), kind: self.kind.clone() }
    }
}
