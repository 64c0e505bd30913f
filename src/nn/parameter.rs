//! Parameters and buffers: tensors whose kind a visitor sees.

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::kind::Kind;
use crate::tensor::Tensor;
use crate::{Build, Element, FloatElement, LeafReader, Traverse, Visitor, VisitorMut};

/// Whether a parameter is trained. A setting: [`Model::freeze`](super::Model::freeze) changes it in whole modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IsTrained(pub(super) bool);

/// A tensor that is trained.
///
/// Derivatives of a module are those by its parameters ([`value_and_grad`](super::value_and_grad)), an optimiser
/// changes them, and they are in the state that is saved. It dereferences to its tensor:
///
/// ```
/// use jit::nn::Parameter;
/// use jit::prelude::*;
///
/// #[derive(Clone, Traverse)]
/// struct Scale {
///     factor: Parameter,
/// }
///
/// let scale = Scale { factor: Parameter::new(Tensor::from([2.0f32, 3.0])) };
/// assert_eq!((&*scale.factor * 10.0).to_vec()?, [20.0, 30.0]);
/// # Ok::<(), jit::Error>(())
/// ```
#[derive(Clone)]
pub struct Parameter<T: FloatElement = f32> {
    tensor: Tensor<T>,
    is_trained: IsTrained,
}

impl<T: FloatElement> Parameter<T> {
    /// Makes a parameter of a tensor. A constant is made opaque, because it will change.
    #[must_use]
    #[track_caller]
    pub fn new(tensor: Tensor<T>) -> Self {
        Parameter { tensor: changeable(tensor), is_trained: IsTrained(true) }
    }

    /// Returns whether the parameter is trained; see [`Model::freeze`](super::Model::freeze).
    #[must_use]
    pub fn is_trained(&self) -> bool {
        self.is_trained.0
    }

    /// Sets whether the parameter is trained.
    pub fn set_trained(&mut self, is_trained: bool) {
        self.is_trained.0 = is_trained;
    }

    /// Replaces the tensor.
    pub fn set(&mut self, tensor: Tensor<T>) {
        self.tensor = tensor;
    }
}

impl<T: FloatElement> Deref for Parameter<T> {
    type Target = Tensor<T>;

    fn deref(&self) -> &Tensor<T> {
        &self.tensor
    }
}

impl<T: FloatElement> fmt::Debug for Parameter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_trained() { "Parameter" } else { "FrozenParameter" };
        write!(f, "{what}<{}>{:?}", T::TYPE, self.tensor.sizes())
    }
}

impl<T: FloatElement> Build for Parameter<T> {
    fn build(leaves: &mut LeafReader<'_>) -> crate::Result<Self> {
        let is_trained = IsTrained(Kind::read(leaves)? != Kind::FrozenParameter);
        Ok(Parameter { tensor: Tensor::build(leaves)?, is_trained })
    }
}

impl<T: FloatElement> Traverse for Parameter<T> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        let kind = if self.is_trained() { Kind::Parameter } else { Kind::FrozenParameter };
        kind.mark(visitor);
        self.tensor.traverse(visitor);
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        visitor.setting(&mut self.is_trained);
        self.tensor.traverse_mut(visitor);
    }
}

/// A tensor that belongs to the state of a module, and is no parameter: the running mean of a normalisation.
///
/// It is saved with the parameters. Gradients stop at it, and optimisers leave it as it is; the module itself replaces
/// it, in frozen functions too.
#[derive(Clone)]
pub struct Buffer<T: Element = f32> {
    tensor: Tensor<T>,
}

impl<T: Element> Buffer<T> {
    /// Makes a buffer of a tensor. A constant is made opaque, because it will change.
    #[must_use]
    #[track_caller]
    pub fn new(tensor: Tensor<T>) -> Self {
        Buffer { tensor: changeable(tensor) }
    }

    /// Replaces the tensor by another one, which carries no gradients from here on. It is computed with the next
    /// evaluation, whatever that is of: no loss reads it, so it would keep what each batch computed for it.
    pub fn set(&mut self, tensor: &Tensor<T>) {
        self.tensor = tensor.detach();
        crate::schedule(&self.tensor);
    }
}

impl<T: Element> Deref for Buffer<T> {
    type Target = Tensor<T>;

    fn deref(&self) -> &Tensor<T> {
        &self.tensor
    }
}

impl<T: Element> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut Tensor<T> {
        &mut self.tensor
    }
}

impl<T: Element> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer<{}>{:?}", T::TYPE, self.tensor.sizes())
    }
}

impl<T: Element> Build for Buffer<T> {
    fn build(leaves: &mut LeafReader<'_>) -> crate::Result<Self> {
        Kind::read(leaves)?;
        Ok(Buffer { tensor: Tensor::build(leaves)? })
    }
}

impl<T: Element> Traverse for Buffer<T> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        Kind::Buffer.mark(visitor);
        self.tensor.traverse(visitor);
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        self.tensor.traverse_mut(visitor);
    }
}

/// Returns a tensor that is no literal of the code.
#[track_caller]
fn changeable<T: Element>(tensor: Tensor<T>) -> Tensor<T> {
    if tensor.array().is_literal() { tensor.make_opaque() } else { tensor }
}
