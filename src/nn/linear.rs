//! Linear layers.

use super::check::{check_axes, check_axis};
use super::{Module, Parameter, init};
use crate::random::Generator;
use crate::tensor::Tensor;
use crate::{FloatElement, Traverse};

/// A linear layer: `y = x Wᵀ + b`, on the last axis of its input.
///
/// The weight has the shape `[outputs, inputs]`, the bias `[outputs]`. Inputs have the shape `[…, inputs]`, results
/// `[…, outputs]`. Sums of halves are computed in single precision.
#[derive(Clone, Debug, Traverse)]
pub struct Linear<T: FloatElement = f32> {
    /// The matrix, `[outputs, inputs]`.
    pub weight: Parameter<T>,
    /// What is added, `[outputs]`.
    pub bias: Option<Parameter<T>>,
}

impl<T: FloatElement> Linear<T> {
    /// Creates a layer with a bias. All parameters are uniform in ±1/√inputs, as in PyTorch.
    #[must_use]
    #[track_caller]
    pub fn new(inputs: usize, outputs: usize, rng: &mut Generator) -> Self {
        let bound = init::bound_of_fan(inputs);
        let weight = Parameter::new(init::uniform([outputs, inputs], -bound, bound, rng));
        let bias = Parameter::new(init::uniform([outputs], -bound, bound, rng));
        Linear { weight, bias: Some(bias) }
    }

    /// Removes the bias.
    #[must_use]
    pub fn without_bias(self) -> Self {
        Linear { bias: None, ..self }
    }
}

impl<T: FloatElement> Module<Tensor<T>> for Linear<T> {
    type Output = Tensor<T>;

    /// # Panics
    ///
    /// When the last axis of the input has another length than the weight has inputs.
    #[track_caller]
    fn forward(&mut self, x: &Tensor<T>) -> Tensor<T> {
        linear(x, &self.weight, self.bias.as_deref())
    }
}

/// Returns `x Wᵀ + b`: see [`Linear`].
///
/// # Panics
///
/// As [`Linear`].
#[must_use]
#[track_caller]
pub fn linear<T: FloatElement>(x: &Tensor<T>, weight: &Tensor<T>, bias: Option<&Tensor<T>>) -> Tensor<T> {
    check_axis("a linear layer", x, -1, "inputs", weight.size(1));
    let y = match x.ndim() {
        1 | 2 => x.matmul(&weight.transpose()),
        // Leading axes are one, so that this is one product of matrices.
        _ => {
            let mut shape = x.sizes();
            shape.pop();
            let rows = shape.iter().fold(crate::Size::from(1), |rows, &length| rows * length);
            shape.push(weight.size(0));
            x.reshape([rows, weight.size(1)]).matmul(&weight.transpose()).reshape(shape)
        }
    };
    match bias {
        Some(bias) => y + bias,
        None => y,
    }
}

/// A bilinear layer: `yₖ = x₁ᵀ Wₖ x₂ + bₖ`, on the last axes of two inputs.
///
/// The weight has the shape `[outputs, inputs1, inputs2]`, the bias `[outputs]`. Inputs have the shapes `[…, inputs1]`
/// and `[…, inputs2]`, whose leading axes are the same.
#[derive(Clone, Debug, Traverse)]
pub struct Bilinear<T: FloatElement = f32> {
    /// The matrices, `[outputs, inputs1, inputs2]`.
    pub weight: Parameter<T>,
    /// What is added, `[outputs]`.
    pub bias: Option<Parameter<T>>,
}

impl<T: FloatElement> Bilinear<T> {
    /// Creates a layer with a bias. All parameters are uniform in ±1/√inputs1, as in PyTorch.
    #[must_use]
    #[track_caller]
    pub fn new(inputs: [usize; 2], outputs: usize, rng: &mut Generator) -> Self {
        let bound = init::bound_of_fan(inputs[0]);
        let weight = Parameter::new(init::uniform([outputs, inputs[0], inputs[1]], -bound, bound, rng));
        let bias = Parameter::new(init::uniform([outputs], -bound, bound, rng));
        Bilinear { weight, bias: Some(bias) }
    }

    /// Removes the bias.
    #[must_use]
    pub fn without_bias(self) -> Self {
        Bilinear { bias: None, ..self }
    }
}

impl<T: FloatElement> Module<(Tensor<T>, Tensor<T>)> for Bilinear<T> {
    type Output = Tensor<T>;

    /// # Panics
    ///
    /// When an input has another length than the weight.
    #[track_caller]
    fn forward(&mut self, (a, b): &(Tensor<T>, Tensor<T>)) -> Tensor<T> {
        let weight = &*self.weight;
        check_axis("a bilinear layer", a, -1, "inputs", weight.size(1));
        check_axis("a bilinear layer", b, -1, "inputs", weight.size(2));
        check_axes("the second input of a bilinear layer", b, a.ndim()..=a.ndim());
        let mut shape = a.sizes();
        shape.pop();
        let rows = shape.iter().fold(crate::Size::from(1), |rows, &length| rows * length);
        shape.push(weight.size(0));
        let a = a.reshape([rows, weight.size(1)]);
        let b = b.reshape([rows, weight.size(2)]);
        // Every row of `a` by all matrices at once, then the scalar products with the rows of `b`.
        let matrix = weight.permute_axes([1, 0, 2]).reshape([weight.size(1), weight.size(0) * weight.size(2)]);
        let products = a.matmul(&matrix).reshape([rows, weight.size(0), weight.size(2)]) * b.expand_dims(1);
        let y = products.sum(-1).reshape(shape);
        match &self.bias {
            Some(bias) => y + &**bias,
            None => y,
        }
    }
}
