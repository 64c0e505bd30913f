//! The parameters of one layer in one direction, and its steps through a sequence.

use super::step::Step;
use crate::nn::{Parameter, init, linear};
use crate::random::Generator;
use crate::tensor::{Tensor, join_steps, sliced, steps_of};
use crate::{FloatElement, Traverse, Visitor, VisitorMut};

/// The parameters of one recurrent layer in one direction.
#[derive(Clone, Debug)]
pub struct Weights<T: FloatElement> {
    /// The matrix of inputs, `[gates · width, inputs]`.
    pub weight_ih: Parameter<T>,
    /// The matrix of the state, `[gates · width, width]`.
    pub weight_hh: Parameter<T>,
    /// What is added to the product with inputs, `[gates · width]`.
    pub bias_ih: Option<Parameter<T>>,
    /// What is added to the product with the state, `[gates · width]`.
    pub bias_hh: Option<Parameter<T>>,
    /// What PyTorch appends to the names: the number of the layer and the direction.
    suffix: String,
}

impl<T: FloatElement> Weights<T> {
    /// Creates parameters that are uniform in ±1/√width, as in PyTorch.
    #[track_caller]
    pub(super) fn new(gates: usize, inputs: usize, width: usize, suffix: String, rng: &mut Generator) -> Self {
        let bound = init::bound_of_fan(width);
        let mut make = |shape: &[usize]| Parameter::new(init::uniform(shape, -bound, bound, rng));
        Weights {
            weight_ih: make(&[gates * width, inputs]),
            weight_hh: make(&[gates * width, width]),
            bias_ih: Some(make(&[gates * width])),
            bias_hh: Some(make(&[gates * width])),
            suffix,
        }
    }

    pub(super) fn without_bias(self) -> Self {
        Weights { bias_ih: None, bias_hh: None, ..self }
    }

    /// Returns the linear function of inputs.
    #[track_caller]
    pub(super) fn of_input(&self, x: &Tensor<T>) -> Tensor<T> {
        linear(x, &self.weight_ih, self.bias_ih.as_deref())
    }

    /// Returns the state after a step.
    #[track_caller]
    pub(super) fn next(&self, step: &impl Step, of_input: &Tensor<T>, state: &[Tensor<T>]) -> Vec<Tensor<T>> {
        step.next(of_input, &linear(&state[0], &self.weight_hh, self.bias_hh.as_deref()), state)
    }

    /// Steps through sequences `[length, batch, inputs]`, backward from their end if so wanted. Returns the results,
    /// `[length, batch, width]`, and the state after the last step. A mask `[length, batch, 1]` leaves out steps: the
    /// state stays as it is, and the result is zero.
    #[track_caller]
    pub(super) fn run(
        &self,
        step: &impl Step,
        x: &Tensor<T>,
        mask: Option<&Tensor<bool>>,
        mut state: Vec<Tensor<T>>,
        is_backward: bool,
    ) -> (Tensor<T>, Vec<Tensor<T>>) {
        let mut of_inputs = steps_of(&self.of_input(x));
        let mut masks = mask.map(sliced);
        if is_backward {
            of_inputs.reverse();
            masks.iter_mut().for_each(|masks| masks.reverse());
        }
        let mut results = Vec::with_capacity(of_inputs.len());
        for (number, of_input) in of_inputs.iter().enumerate() {
            let next = self.next(step, of_input, &state);
            let Some(masks) = &masks else {
                results.push(next[0].clone());
                state = next;
                continue;
            };
            let mask = &masks[number];
            results.push(mask.select(&next[0], T::default()));
            state = next.iter().zip(&state).map(|(next, state)| mask.select(next, state)).collect();
        }
        if is_backward {
            results.reverse();
        }
        (join_steps(&results), state)
    }
}

/// The names are those of PyTorch, `weight_ih_l0_reverse`.
impl<T: FloatElement> Traverse for Weights<T> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        let Weights { weight_ih, weight_hh, bias_ih, bias_hh, suffix } = self;
        visitor.named(&format!("weight_ih{suffix}"), |visitor| weight_ih.traverse(visitor));
        visitor.named(&format!("weight_hh{suffix}"), |visitor| weight_hh.traverse(visitor));
        visitor.named(&format!("bias_ih{suffix}"), |visitor| bias_ih.traverse(visitor));
        visitor.named(&format!("bias_hh{suffix}"), |visitor| bias_hh.traverse(visitor));
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        let Weights { weight_ih, weight_hh, bias_ih, bias_hh, suffix } = self;
        visitor.named(&format!("weight_ih{suffix}"), |visitor| weight_ih.traverse_mut(visitor));
        visitor.named(&format!("weight_hh{suffix}"), |visitor| weight_hh.traverse_mut(visitor));
        visitor.named(&format!("bias_ih{suffix}"), |visitor| bias_ih.traverse_mut(visitor));
        visitor.named(&format!("bias_hh{suffix}"), |visitor| bias_hh.traverse_mut(visitor));
    }
}

crate::nn::convert::converted! {
    Weights [] { weight_ih, weight_hh, bias_ih, bias_hh } { suffix }
}
