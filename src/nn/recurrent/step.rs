//! What becomes of the state in one step.

use crate::tensor::Tensor;
use crate::{FloatElement, Traverse, s};

/// A kind of recurrent layer.
pub trait Step: Traverse + Clone + Default + Send + Sync + 'static {
    /// The number of gates: the factor of the width of the state that the weights have.
    const GATES: usize;

    /// The number of tensors of the state, the first of which is the result.
    const STATES: usize;

    /// Returns the next state from the linear functions of the input, `W x + b`, and of the state, `U h + c`, each of
    /// shape `[batch, GATES · width]`, and the state, of shape `[batch, width]` each.
    #[track_caller]
    fn next<T: FloatElement>(&self, of_input: &Tensor<T>, of_state: &Tensor<T>, state: &[Tensor<T>]) -> Vec<Tensor<T>>;
}

/// Returns a gate of several, side by side along the last axis.
#[track_caller]
fn gate<T: FloatElement>(gates: &Tensor<T>, number: usize, count: usize) -> Tensor<T> {
    let width = gates.size(-1) / count;
    gates.slice(s![.., width * number..width * (number + 1)])
}

/// The step `h' = tanh(W x + b + U h + c)`, or with the rectifier (J. Elman, “Finding Structure in Time”, 1990).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Traverse)]
pub struct RnnStep {
    /// Whether `max(·, 0)` takes the place of `tanh`.
    pub is_rectified: bool,
}

impl Step for RnnStep {
    const GATES: usize = 1;
    const STATES: usize = 1;

    #[track_caller]
    fn next<T: FloatElement>(&self, of_input: &Tensor<T>, of_state: &Tensor<T>, _: &[Tensor<T>]) -> Vec<Tensor<T>> {
        let sum = of_input + of_state;
        vec![if self.is_rectified { crate::nn::relu(&sum) } else { sum.tanh() }]
    }
}

/// The step of a long short-term memory (S. Hochreiter, J. Schmidhuber, 1997; with the forget gate of F. Gers et al.,
/// 2000): `c' = σ(f) c + σ(i) tanh(g)`, `h' = σ(o) tanh(c')`, with gates in the order i, f, g, o.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Traverse)]
pub struct LstmStep;

impl Step for LstmStep {
    const GATES: usize = 4;
    const STATES: usize = 2;

    #[track_caller]
    fn next<T: FloatElement>(&self, of_input: &Tensor<T>, of_state: &Tensor<T>, state: &[Tensor<T>]) -> Vec<Tensor<T>> {
        let sum = of_input + of_state;
        let [input, forget, cell, output] = [0, 1, 2, 3].map(|number| gate(&sum, number, Self::GATES));
        let cell = forget.sigmoid() * &state[1] + input.sigmoid() * cell.tanh();
        vec![output.sigmoid() * cell.tanh(), cell]
    }
}

/// The step of a gated recurrent unit (K. Cho et al., 2014): `h' = (1 − z) n + z h` with `n = tanh(nₓ + σ(r) nₕ)` and
/// `z = σ(zₓ + zₕ)`, with gates in the order r, z, n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Traverse)]
pub struct GruStep;

impl Step for GruStep {
    const GATES: usize = 3;
    const STATES: usize = 1;

    #[track_caller]
    fn next<T: FloatElement>(&self, of_input: &Tensor<T>, of_state: &Tensor<T>, state: &[Tensor<T>]) -> Vec<Tensor<T>> {
        let both = |number| (gate(of_input, number, Self::GATES), gate(of_state, number, Self::GATES));
        let [reset, update] = [0, 1].map(|number| {
            let (of_input, of_state) = both(number);
            (of_input + of_state).sigmoid()
        });
        let (of_input, of_state) = both(2);
        let new = (of_input + reset * of_state).tanh();
        vec![&new + update * (&state[0] - &new)]
    }
}
