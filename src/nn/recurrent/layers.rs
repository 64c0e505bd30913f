//! Layers that step through sequences.

use jit_core::misuse::Misuse;

use super::cell::check_state;
use super::direction::Weights;
use super::step::{GruStep, LstmStep, RnnStep, Step};
use crate::nn::check::{check_axes, check_axis};
use crate::nn::{Convert, Dropout, Module};
use crate::random::Generator;
use crate::tensor::Tensor;
use crate::{FloatElement, Integer, Site, Size, Traverse, UInt, s};

/// Recurrent layers: each steps through the sequence of results of the layer before.
///
/// Inputs have the shape `[batch, length, inputs]`, or `[length, batch, inputs]` with
/// [`Recurrent::with_length_first`]; results have the width as last axis, twice if there are both directions. A state
/// is a list of tensors `[layers · directions, batch, width]`, whose first one has what the last steps returned. As a
/// module of one tensor the layers begin with zeros and return the results alone.
///
/// The host steps through the sequence, so a traced module or frozen function has a recording for each length of it.
/// Sequences that are filled up to a common length, with their own lengths as an argument, are served by one:
/// [`Recurrent::run_padded`]. So are sequences of any length by a step of a cell, such as
/// [`LstmCell`](super::LstmCell).
///
/// ```
/// use jit::nn::{Lstm, Module};
/// use jit::prelude::*;
///
/// let mut lstm: Lstm = Lstm::new(3, 8, &mut jit::random::rng(1));
/// let (results, state) = lstm.run(&Tensor::ones([5, 20, 3]), None);
/// assert_eq!((results.shape(), state[1].shape()), (&[5, 20, 8][..], &[1, 5, 8][..]));
/// ```
#[derive(Clone, Debug, Traverse)]
pub struct Recurrent<T: FloatElement, K: Step> {
    /// The parameters of all layers, for each of them in both directions if there are two.
    #[traverse(rename = "")]
    pub weights: WeightsOfLayers<T>,
    /// The kind of step and its settings.
    pub kind: K,
    /// The dropout of results between layers.
    pub dropout: Option<Dropout>,
    is_bidirectional: bool,
    is_length_first: bool,
}

/// Recurrent layers of [`RnnStep`]s.
pub type Rnn<T = f32> = Recurrent<T, RnnStep>;
/// Layers of long short-term memory: [`LstmStep`].
pub type Lstm<T = f32> = Recurrent<T, LstmStep>;
/// Layers of gated recurrent units: [`GruStep`].
pub type Gru<T = f32> = Recurrent<T, GruStep>;

/// The parameters of all layers; they have their names, not the numbers in the list.
#[derive(Clone, Debug)]
pub struct WeightsOfLayers<T: FloatElement>(pub Vec<Weights<T>>);

impl<T: FloatElement> Traverse for WeightsOfLayers<T> {
    fn traverse(&self, visitor: &mut crate::Visitor<'_>) {
        self.0.iter().for_each(|weights| weights.traverse(visitor));
    }

    fn traverse_mut(&mut self, visitor: &mut crate::VisitorMut<'_>) {
        self.0.iter_mut().for_each(|weights| weights.traverse_mut(visitor));
    }
}

impl<T: FloatElement, K: Step> Recurrent<T, K> {
    /// Creates one layer with biases, forward in time. All parameters are uniform in ±1/√width, as in PyTorch.
    #[must_use]
    #[track_caller]
    pub fn new(inputs: usize, width: usize, rng: &mut Generator) -> Self {
        Recurrent::stacked(inputs, width, 1, false, rng)
    }

    /// Creates a number of layers, each in both directions if so wanted.
    #[must_use]
    #[track_caller]
    pub fn stacked(inputs: usize, width: usize, layers: usize, is_bidirectional: bool, rng: &mut Generator) -> Self {
        let directions = if is_bidirectional { 2 } else { 1 };
        let mut weights = Vec::with_capacity(layers * directions);
        for layer in 0..layers {
            let inputs = if layer == 0 { inputs } else { width * directions };
            for suffix in ["", "_reverse"].into_iter().take(directions) {
                weights.push(Weights::new(K::GATES, inputs, width, format!("_l{layer}{suffix}"), rng));
            }
        }
        Recurrent {
            weights: WeightsOfLayers(weights),
            kind: K::default(),
            dropout: None,
            is_bidirectional,
            is_length_first: false,
        }
    }

    /// Removes the biases.
    #[must_use]
    pub fn without_bias(self) -> Self {
        let weights = self.weights.0.into_iter().map(Weights::without_bias).collect();
        Recurrent { weights: WeightsOfLayers(weights), ..self }
    }

    /// Sets the kind of step and its settings.
    #[must_use]
    pub fn with_kind(self, kind: K) -> Self {
        Recurrent { kind, ..self }
    }

    /// Makes the length of sequences the first axis of inputs and results, and the batch the second one.
    #[must_use]
    pub fn with_length_first(self) -> Self {
        Recurrent { is_length_first: true, ..self }
    }

    /// Sets results between layers to zero with a probability in training.
    #[must_use]
    #[track_caller]
    pub fn with_dropout(self, probability: f64, rng: &mut Generator) -> Self {
        Recurrent { dropout: Some(Dropout::new(probability, rng)), ..self }
    }

    /// Steps through sequences from a state, or from zeros. Returns the results and the state after the last steps.
    ///
    /// # Panics
    ///
    /// When the input has another number of axes or features, the sequence no steps, or the state another number of
    /// tensors or shape.
    #[track_caller]
    pub fn run(&mut self, x: &Tensor<T>, state: Option<&[Tensor<T>]>) -> (Tensor<T>, Vec<Tensor<T>>) {
        let x = self.checked(x);
        self.run_masked(x, None, state)
    }

    /// Like [`Recurrent::run`], for sequences of different lengths that are filled up at their ends: each is stepped
    /// through as if it were alone, in both directions. Results behind its end are zeros, and the state is that after
    /// its own last step. The lengths have one axis, the batch; they are arrays like all else, so one recording serves
    /// all of them.
    ///
    /// ```
    /// use jit::nn::Gru;
    /// use jit::prelude::*;
    ///
    /// let mut gru: Gru = Gru::stacked(3, 8, 1, true, &mut jit::random::rng(1));
    /// let x = Tensor::<f32>::ones([2, 20, 3]);
    /// let (results, _) = gru.run_padded(&x, &Tensor::from([20u32, 7]), None);
    /// let (alone, _) = gru.run(&x.slice(s![1..2, 0..7]), None);
    /// assert_eq!(results.slice(s![1..2, 0..7]).to_vec()?, alone.to_vec()?);
    /// assert_eq!(results.slice(s![1, 7..]).abs().sum(..).item()?, 0.0);
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Recurrent::run`], and when there is not one length for each sequence.
    #[track_caller]
    pub fn run_padded<I: Integer>(
        &mut self,
        x: &Tensor<T>,
        lengths: &Tensor<I>,
        state: Option<&[Tensor<T>]>,
    ) -> (Tensor<T>, Vec<Tensor<T>>) {
        let x = self.checked(x);
        if lengths.ndim() != 1 || lengths.size(0) != x.size(1) {
            let what = format!("{} sequences got lengths of shape {:?}", x.size(1), lengths.sizes());
            Misuse::new(what, Site::here())
                .value("the lengths", lengths.array().var())
                .hint("the lengths are a tensor of one axis, with one length for each sequence")
                .panic();
        }
        let place = Tensor::from(UInt::arange(x.size(0))).expand_dims(1);
        // A negative length is that of no steps.
        let lengths = lengths.max(I::default()).cast::<u64>();
        let mask = place.cast::<u64>().lt(&lengths).expand_dims(-1);
        self.run_masked(x, Some(&mask), state)
    }

    /// Steps through checked sequences, the length first; through the places where a mask is true, if there is one.
    #[track_caller]
    fn run_masked(
        &mut self,
        x: Tensor<T>,
        mask: Option<&Tensor<bool>>,
        state: Option<&[Tensor<T>]>,
    ) -> (Tensor<T>, Vec<Tensor<T>>) {
        let width = self.weights.0[0].weight_hh.size(1);
        let shape = [Size::from(self.weights.0.len()), x.size(1), width];
        let state = match state {
            Some(state) => state.to_vec(),
            None => vec![Tensor::zeros(shape); K::STATES],
        };
        check_state::<K, T>(&state, &shape);
        let directions = if self.is_bidirectional { 2 } else { 1 };
        let (mut results, mut ends) = (x, Vec::new());
        for number in 0..self.weights.0.len() / directions {
            if number > 0 {
                results = self.dropout.forward(&results);
            }
            results = self.run_layer(number * directions, directions, &results, mask, &state, &mut ends);
        }
        let state = (0..K::STATES).map(|part| {
            let parts: Vec<_> = ends.iter().map(|end: &Vec<Tensor<T>>| end[part].clone()).collect();
            Tensor::stack(&parts, 0)
        });
        let state = state.collect();
        (if self.is_length_first { results } else { results.swap_axes(0, 1) }, state)
    }

    /// Computes one layer; adds the states after the last steps.
    #[track_caller]
    fn run_layer(
        &self,
        first: usize,
        directions: usize,
        x: &Tensor<T>,
        mask: Option<&Tensor<bool>>,
        state: &[Tensor<T>],
        ends: &mut Vec<Vec<Tensor<T>>>,
    ) -> Tensor<T> {
        let mut results = Vec::with_capacity(directions);
        for direction in 0..directions {
            let number = first + direction;
            let begin = state.iter().map(|part| part.slice(s![number])).collect();
            let (result, end) = self.weights.0[number].run(&self.kind, x, mask, begin, direction == 1);
            results.push(result);
            ends.push(end);
        }
        if directions == 1 { results.swap_remove(0) } else { Tensor::concat(&results, -1) }
    }

    /// Returns the input with the length of sequences as first axis.
    #[track_caller]
    fn checked(&self, x: &Tensor<T>) -> Tensor<T> {
        check_axes("a recurrent layer", x, 3..=3);
        check_axis("a recurrent layer", x, -1, "features", self.weights.0[0].weight_ih.size(1));
        let x = if self.is_length_first { x.clone() } else { x.swap_axes(0, 1) };
        if x.size(0) < 1 {
            Misuse::new("a recurrent layer got a sequence of no steps", Site::here())
                .value("the input", x.array().var())
                .hint("sequences have at least one step")
                .panic();
        }
        x
    }
}

impl<T: FloatElement, K: Step> Module<Tensor<T>> for Recurrent<T, K> {
    type Output = Tensor<T>;

    /// # Panics
    ///
    /// As [`Recurrent::run`].
    #[track_caller]
    fn forward(&mut self, x: &Tensor<T>) -> Tensor<T> {
        self.run(x, None).0
    }
}

/// The input and the state before become the results and the state after.
impl<T: FloatElement, K: Step> Module<(Tensor<T>, Vec<Tensor<T>>)> for Recurrent<T, K> {
    type Output = (Tensor<T>, Vec<Tensor<T>>);

    /// # Panics
    ///
    /// As [`Recurrent::run`].
    #[track_caller]
    fn forward(&mut self, (x, state): &(Tensor<T>, Vec<Tensor<T>>)) -> Self::Output {
        self.run(x, Some(state))
    }
}

impl<T: FloatElement, U: FloatElement, K: Step> Convert<U> for Recurrent<T, K> {
    type Output = Recurrent<U, K>;

    #[track_caller]
    fn convert(&self) -> Recurrent<U, K> {
        Recurrent {
            weights: WeightsOfLayers(self.weights.0.convert()),
            kind: self.kind.clone(),
            dropout: self.dropout.clone(),
            is_bidirectional: self.is_bidirectional,
            is_length_first: self.is_length_first,
        }
    }
}
