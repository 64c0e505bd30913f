//! Training, and its state in a file.

use std::path::Path;

use jit::nn::{self, Module, StateDict};
use jit::optim::{AdamW, Schedule, clip_norm};
use jit::prelude::*;
use jit::random::Generator;

use crate::net::{CONTEXT, Net};
use crate::shared::checkpoint;

/// The number of pieces of the book in a step.
pub(crate) const BATCH: usize = 32;
/// The gradient is made shorter than this.
const LONGEST_GRADIENT: f32 = 1.0;

/// All that changes in a step: a file of it is all that is needed to go on.
#[derive(Clone, Traverse)]
struct State {
    net: Net,
    adam: AdamW<Net>,
    rate: Schedule,
    rng: Generator,
}

/// A network in training.
pub(crate) struct Training {
    state: State,
    /// The mean losses of groups of steps.
    losses: Vec<f32>,
}

/// Returns pieces of a text that begin at some places, and what follows each of their characters.
fn pieces(text: &UInt, starts: UInt, count: impl Into<Size>) -> (Tensor<u32>, Tensor<u32>) {
    let places = Tensor::from_array(starts, [count.into(), Size::from(1)]) + Tensor::arange([CONTEXT]);
    let text = Tensor::from(text.clone());
    (text.take(0, &places), text.take(0, places + 1))
}

/// Returns the mean loss of the scores of what follows, in nats a character.
fn loss(net: &mut Net, (text, next): &(Tensor<u32>, Tensor<u32>)) -> Tensor<f32> {
    let scores = net.forward(text);
    nn::cross_entropy(&scores.reshape([next.width(), scores.size(2)]), &next.ravel())
}

/// A step on random pieces of the book; returns the loss.
#[freeze]
fn step(state: &mut State, book: &UInt) -> Tensor<f32> {
    let starts = state.rng.integers_between(0, UInt::from(book.width()) - CONTEXT as u32, BATCH);
    let pieces = pieces(book, starts, BATCH);
    let (loss, gradient) =
        nn::value_and_grad(&mut state.net, |net| loss(net, &pieces)).expect("the loss has derivatives");
    state.adam.settings.rate = state.rate.advance();
    state.adam.step(&mut state.net, &clip_norm(&gradient, LONGEST_GRADIENT));
    loss
}

/// Returns how often a step was recorded.
pub(crate) fn recordings() -> u64 {
    step::stats().recordings
}

impl Training {
    pub(crate) fn new(net: Net, seed: u64) -> Self {
        let rate = Schedule::linear(0.0, 2e-3, 50).then(Schedule::cosine(2e-3, 2e-4, 2000));
        let (adam, rng) = (AdamW::new(&net, rate.value()), jit::random::rng(seed));
        Training { state: State { net, adam, rate, rng }, losses: Vec::new() }
    }

    /// Takes so many steps, at least one; returns their mean loss.
    pub(crate) fn train(&mut self, book: &UInt, steps: u64) -> jit::Result<f32> {
        let mut sum = Tensor::from(0.0_f32);
        for _ in 0..steps {
            sum += step(&mut self.state, book);
        }
        let mean = sum.item()? / steps as f32;
        self.losses.push(mean);
        Ok(mean)
    }

    /// Returns the mean loss on a text, cut into pieces.
    pub(crate) fn loss_on(&self, text: &UInt) -> jit::Result<f32> {
        let count = (text.len() - 1) / CONTEXT;
        let pieces = pieces(text, UInt::arange(count) * CONTEXT as u32, count);
        loss(&mut self.net().clone(), &pieces).item()
    }

    pub(crate) fn net(&self) -> &Net {
        &self.state.net
    }

    /// Returns the number of steps so far.
    pub(crate) fn steps(&self) -> jit::Result<u32> {
        self.state.rate.steps().item()
    }

    pub(crate) fn losses(&self) -> &[f32] {
        &self.losses
    }

    /// Returns the state and the losses so far.
    pub(crate) fn checkpoint(&self) -> StateDict {
        checkpoint::checkpoint(&self.state, &self.losses)
    }

    pub(crate) fn save(&self, path: &Path) -> jit::Result<()> {
        self.checkpoint().save(path)
    }

    pub(crate) fn load(&mut self, path: &Path) -> jit::Result<()> {
        self.losses = checkpoint::load(path, &mut self.state)?;
        Ok(())
    }
}
