//! Training, and its state in a file.

use std::path::Path;

use jit::FloatElement;
use jit::nn::{self, DataLoader, Model, Module, StateDict};
use jit::optim::{Adam, LossScaler};
use jit::prelude::*;

use crate::data::{Sample, tensors};
use crate::nets::Net;
use crate::shared::checkpoint;

const BATCH: usize = 32;

/// All that changes in a step: a file of it is all that is needed to go on.
#[derive(Clone, Traverse)]
struct State<M: Traverse> {
    net: M,
    adam: Adam<M>,
    scaler: LossScaler,
}

/// A network in training.
pub(crate) struct Training<M: Traverse> {
    state: State<M>,
    /// The mean loss of each epoch.
    losses: Vec<f32>,
    seed: u64,
}

/// A step; returns the loss.
#[freeze]
fn step<M: Net<H>, H: FloatElement>(state: &mut State<M>, x: &Tensor<f32>, y: &Tensor<u32>) -> Tensor<f32> {
    let State { net, adam, scaler } = state;
    let loss = |net: &mut M| {
        let mut converted = net.to::<H>();
        let scores = converted.forward(&x.cast::<H>()).cast::<f32>();
        net.adopt_state(&converted).expect("it is the same network");
        scaler.scale(&nn::cross_entropy(&scores, y))
    };
    let (loss, gradient) = nn::value_and_grad(net, loss).expect("the loss has derivatives");
    let loss = scaler.unscale(&loss);
    scaler.step(adam, net, &gradient);
    loss
}

/// Returns how often a step was recorded.
pub(crate) fn recordings() -> u64 {
    step::stats().recordings
}

impl<M: Traverse + Clone + 'static> Training<M> {
    pub(crate) fn new(net: M, scaler: LossScaler, seed: u64) -> Self {
        let adam = Adam::new(&net, 0.002);
        Training { state: State { net, adam, scaler }, losses: Vec::new(), seed }
    }

    /// Shows each sample once; returns the mean loss.
    pub(crate) fn train_epoch<H: FloatElement>(&mut self, samples: &[Sample]) -> jit::Result<f32>
    where
        M: Net<H>,
    {
        let loader = DataLoader::new(samples, BATCH).shuffled(self.seed).without_last().prefetched(2);
        let (mut sum, count) = (Tensor::from(0.0_f32), loader.len());
        for (x, y) in loader.epoch(self.epoch(), tensors)? {
            sum += step::<M, H>(&mut self.state, &x, &y);
        }
        self.losses.push(sum.item()? / count as f32);
        Ok(self.losses[self.losses.len() - 1])
    }

    /// Returns what the network takes the samples for.
    pub(crate) fn answers<H: FloatElement>(&self, samples: &[Sample]) -> jit::Result<Vec<u32>>
    where
        M: Net<H>,
    {
        let (x, _) = tensors(&samples.iter().collect::<Vec<_>>());
        self.state.net.to::<H>().infer(&x.cast::<H>()).argmax(1).to_vec()
    }

    /// Returns the number of epochs so far.
    pub(crate) fn epoch(&self) -> u64 {
        self.losses.len() as u64
    }

    pub(crate) fn losses(&self) -> &[f32] {
        &self.losses
    }

    /// Returns the number of steps that were left out because of infinite gradients.
    pub(crate) fn skipped(&self) -> jit::Result<u32> {
        self.state.scaler.skipped_steps.item()
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
