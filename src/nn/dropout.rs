//! Dropout.

use jit_core::misuse::Misuse;
use jit_runtime::Site;

use super::{Mode, Module};
use crate::random::Generator;
use crate::tensor::Tensor;
use crate::{Array, FloatElement, Traverse};

/// Sets elements to zero with a probability in training, and divides the others by the rest of it (N. Srivastava et
/// al., “Dropout”, 2014). In evaluation it returns its input.
///
/// The generator is part of the module: each call draws other numbers, in frozen functions too, and a
/// [checkpoint](super::StateDict::checkpoint) has it.
#[derive(Clone, Debug, Traverse)]
pub struct Dropout {
    /// The probability of a zero, from 0 to 1.
    pub probability: f64,
    /// Whether the layer trains.
    pub mode: Mode,
    rng: Generator,
}

impl Dropout {
    /// Creates a layer with a generator that is split off.
    ///
    /// # Panics
    ///
    /// When the probability is not from 0 to 1.
    #[must_use]
    #[track_caller]
    pub fn new(probability: f64, rng: &mut Generator) -> Self {
        if !(0.0..=1.0).contains(&probability) {
            refuse(probability);
        }
        Dropout { probability, mode: Mode::Train, rng: rng.split() }
    }
}

impl<T: FloatElement> Module<Tensor<T>> for Dropout {
    type Output = Tensor<T>;

    #[track_caller]
    fn forward(&mut self, x: &Tensor<T>) -> Tensor<T> {
        if !self.mode.is_train() {
            return x.clone();
        }
        if !(0.0..=1.0).contains(&self.probability) {
            refuse(self.probability);
        }
        let is_kept = self.rng.random::<f32>(x.width()).ge(Array::opaque(self.probability as f32));
        let scale = Array::opaque(T::from_f64(1.0 / (1.0 - self.probability)));
        x.map(|x| is_kept.select(x * scale, T::default()))
    }
}

#[cold]
#[track_caller]
fn refuse(probability: f64) -> ! {
    let text = format!("a dropout layer sets elements to zero with a probability from 0 to 1, not {probability}");
    Misuse::new(text, Site::here()).hint("0.1 keeps nine of ten elements").panic()
}
