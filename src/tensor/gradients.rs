//! Variables, gradients and traversals of tensors: those of their arrays, in their shape.

use super::Tensor;
use super::broadcast::TensorOperand;
use crate::{Element, Result};

/// Differentiation: see [`jit::ad`](crate::ad).
impl<T: Element> Tensor<T> {
    /// Makes the tensor a variable: values that are computed from it from now on carry gradients, which
    /// [`Tensor::backward`] stores here and [`Tensor::grad`] returns. See
    /// [`Array::enable_grad`](crate::Array::enable_grad).
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// let mut weights = Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]);
    /// weights.enable_grad();
    /// let loss = weights.square().sum(..);
    /// loss.backward()?;
    /// assert_eq!(weights.grad().shape(), [2, 2]);
    /// assert_eq!(weights.grad().to_vec()?, [2.0, 4.0, 6.0, 8.0]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    #[track_caller]
    pub fn enable_grad(&mut self) {
        self.array.enable_grad();
    }

    /// Makes the tensor a constant: [`Tensor::detach`] in place.
    #[track_caller]
    pub fn disable_grad(&mut self) {
        self.array.disable_grad();
    }

    /// Returns whether values that are computed from the tensor carry gradients; see
    /// [`Array::grad_enabled`](crate::Array::grad_enabled).
    #[must_use]
    pub fn grad_enabled(&self) -> bool {
        self.array.grad_enabled()
    }

    /// Returns the gradient that was stored for the tensor, in its shape: zeros if there is none. See
    /// [`Array::grad`](crate::Array::grad).
    ///
    /// # Panics
    ///
    /// As [`Array::grad`](crate::Array::grad).
    #[must_use]
    #[track_caller]
    pub fn grad(&self) -> Self {
        self.with_array(self.array.grad())
    }

    /// Stores a gradient, which broadcasts to the shape of the tensor; see [`Array::set_grad`](crate::Array::set_grad).
    ///
    /// # Panics
    ///
    /// When the gradient does not broadcast to the shape of the tensor.
    #[track_caller]
    pub fn set_grad(&self, gradient: impl TensorOperand<T>) {
        self.array.set_grad(&self.in_this_shape(gradient).array);
    }

    /// Adds to the stored gradient; see [`Tensor::set_grad`].
    ///
    /// # Panics
    ///
    /// As [`Tensor::set_grad`].
    #[track_caller]
    pub fn accum_grad(&self, gradient: impl TensorOperand<T>) {
        self.array.accum_grad(&self.in_this_shape(gradient).array);
    }

    /// Removes the stored gradient, and the tangents that flow from here.
    pub fn clear_grad(&self) {
        self.array.clear_grad();
    }

    /// Returns a tensor with the value of this one, through which gradients flow as through another one, which
    /// broadcasts to its shape. See [`Array::replace_grad`](crate::Array::replace_grad).
    ///
    /// # Panics
    ///
    /// When the other one does not broadcast to the shape of this one.
    #[must_use]
    #[track_caller]
    pub fn replace_grad(&self, other: impl TensorOperand<T>) -> Self {
        self.with_array(self.array.replace_grad(&self.in_this_shape(other).array))
    }

    /// Lets gradients flow from the tensor, each of whose elements counts once, to all variables behind it. See
    /// [`Array::backward`](crate::Array::backward).
    ///
    /// # Errors
    ///
    /// As [`Array::backward`](crate::Array::backward).
    #[track_caller]
    pub fn backward(&self) -> Result<()> {
        self.array.backward()
    }

    /// Lets a tangent of one flow from the variable to everything that is computed from it. See
    /// [`Array::forward`](crate::Array::forward).
    ///
    /// # Errors
    ///
    /// As [`Array::forward`](crate::Array::forward).
    #[track_caller]
    pub fn forward(&self) -> Result<()> {
        self.array.forward()
    }

    #[track_caller]
    fn in_this_shape(&self, other: impl TensorOperand<T>) -> Self {
        other.into_tensor().broadcast_to(&*self.shape)
    }
}
