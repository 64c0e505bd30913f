//! A training in a file: its state, and the losses so far.

use std::path::Path;

use jit::Traverse;
use jit::nn::StateDict;
use jit::tensor::Tensor;

/// The name of the losses in the file.
const LOSSES: &str = "losses";

/// Returns what is saved.
#[allow(dead_code, reason = "not every example trains")]
pub(crate) fn checkpoint<S: Traverse>(state: &S, losses: &[f32]) -> StateDict {
    let mut checkpoint = StateDict::checkpoint(state);
    checkpoint.insert(LOSSES, &Tensor::from(losses.to_vec()));
    checkpoint
}

/// Restores a state from a file. Returns the losses.
#[allow(dead_code, reason = "not every example trains")]
pub(crate) fn load<S: Traverse>(path: &Path, state: &mut S) -> jit::Result<Vec<f32>> {
    let mut checkpoint = StateDict::open(path)?;
    let losses = checkpoint.get::<f32>(LOSSES)?.to_vec()?;
    checkpoint.remove(LOSSES);
    checkpoint.restore(state)?;
    Ok(losses)
}
