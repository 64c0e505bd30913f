//! The steps of a sequence: the parts of a tensor along its first axis, and their join.
//!
//! Their cost is that of the elements, however many steps there are. Steps are written to their places, whereas in
//! [`Tensor::stack`] each lane tests each part. The derivative by all steps is one join, whereas that of as many slices
//! is a sum of as many tensors.

use std::marker::PhantomData;

use jit_core::ad::{CustomOp, custom};
use jit_core::native;

use super::Tensor;
use super::lengths::{Sizes, number, product};
use crate::{Array, Element, FloatElement, Result, Size, UInt, s};

/// Up to this number of steps, each lane finds its step.
const FEW: usize = 4;

/// Returns the parts of a tensor along its first axis, whose length is read.
#[track_caller]
pub(crate) fn steps_of<T: FloatElement>(x: &Tensor<T>) -> Vec<Tensor<T>> {
    let is_plain = !x.array.grad_enabled() || x.shape[0] <= FEW || native::is_in_loop(&x.array);
    if is_plain { sliced(x) } else { custom(Steps(PhantomData), x) }
}

/// Joins tensors of one shape, of which there are some, along a new first axis.
#[track_caller]
pub(crate) fn join_steps<T: FloatElement>(steps: &[Tensor<T>]) -> Tensor<T> {
    if steps.len() <= FEW || steps.iter().any(|step| native::is_in_loop(&step.array)) {
        return Tensor::stack(steps, 0);
    }
    match steps.iter().any(|step| step.array.grad_enabled()) {
        true => custom(Join(PhantomData), &steps.to_vec()),
        false => written(steps),
    }
}

/// Returns the parts, each of which reads the tensor.
#[track_caller]
pub(crate) fn sliced<T: Element>(x: &Tensor<T>) -> Vec<Tensor<T>> {
    let mut steps = Vec::with_capacity(x.shape[0].get());
    for place in 0..x.shape[0].get() {
        steps.push(x.slice(s![place]));
    }
    steps
}

/// Writes each step to its place.
#[track_caller]
fn written<T: FloatElement>(steps: &[Tensor<T>]) -> Tensor<T> {
    let each = product(&steps[0].shape);
    let mut shape = Sizes::from_slice(&[Size::from(steps.len())]);
    shape.extend_from_slice(&steps[0].shape);
    let mut all = Array::<T>::zeros(product(&shape));
    let lane = UInt::arange(each);
    for (place, step) in steps.iter().enumerate() {
        all.scatter(&step.array, &(&lane + number(each * place)));
    }
    Tensor::shaped(all, &shape)
}

/// A tensor becomes its steps.
struct Steps<T>(PhantomData<T>);

impl<T: FloatElement> CustomOp for Steps<T> {
    type Input = Tensor<T>;
    type Output = Vec<Tensor<T>>;
    type Saved = ();

    fn name(&self) -> &str {
        "steps"
    }

    #[track_caller]
    fn forward(&self, x: &Tensor<T>) -> (Vec<Tensor<T>>, ()) {
        (sliced(x), ())
    }

    #[track_caller]
    fn backward(&self, (): &(), gradients: &Vec<Tensor<T>>) -> Result<Tensor<T>> {
        Ok(join_steps(gradients))
    }

    #[track_caller]
    fn jvp(&self, (): &(), tangent: &Tensor<T>) -> Result<Vec<Tensor<T>>> {
        Ok(steps_of(tangent))
    }
}

/// Steps become a tensor.
struct Join<T>(PhantomData<T>);

impl<T: FloatElement> CustomOp for Join<T> {
    type Input = Vec<Tensor<T>>;
    type Output = Tensor<T>;
    type Saved = ();

    fn name(&self) -> &str {
        "join of steps"
    }

    #[track_caller]
    fn forward(&self, steps: &Vec<Tensor<T>>) -> (Tensor<T>, ()) {
        (written(steps), ())
    }

    #[track_caller]
    fn backward(&self, (): &(), gradient: &Tensor<T>) -> Result<Vec<Tensor<T>>> {
        Ok(steps_of(gradient))
    }

    #[track_caller]
    fn jvp(&self, (): &(), tangents: &Vec<Tensor<T>>) -> Result<Tensor<T>> {
        Ok(join_steps(tangents))
    }
}
