//! Recurrent layers: a state that each step of a sequence changes.
//!
//! A step is a [`Step`]: a linear function of input and state, and what becomes of its results, the gates. Cells
//! compute one step; [`Recurrent`] layers compute all steps of a sequence, in several layers and both directions. The
//! steps are a loop of the program that is recorded, since each needs all of the state before; what depends on inputs
//! alone is one product of matrices for all steps.

mod cell;
mod direction;
mod layers;
mod step;

pub use cell::{Cell, GruCell, LstmCell, RnnCell};
pub use direction::Weights;
pub use layers::{Gru, Lstm, Recurrent, Rnn, WeightsOfLayers};
pub use step::{GruStep, LstmStep, RnnStep, Step};
