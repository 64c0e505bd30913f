//! Layers one after the other, chosen while the program runs.

use std::any::{TypeId, type_name};

use jit_core::misuse;

use super::Module;
use crate::tensor::Tensor;
use crate::{Site, Traverse, Visitor, VisitorMut};

/// A layer of any type.
trait Layer<X>: Module<X, Output = X> + Send + Sync {
    fn boxed(&self) -> Box<dyn Layer<X>>;
    fn name(&self) -> &'static str;
    fn id(&self) -> TypeId;
}

impl<X, M: Module<X, Output = X> + Clone + Send + Sync + 'static> Layer<X> for M {
    fn boxed(&self) -> Box<dyn Layer<X>> {
        Box::new(self.clone())
    }

    fn name(&self) -> &'static str {
        type_name::<M>()
    }

    fn id(&self) -> TypeId {
        TypeId::of::<M>()
    }
}

/// Layers one after the other, each of any type whose input and output are of type `X`. Where the layers are known when
/// the program is written, a tuple of them does the same.
///
/// ```
/// use jit::nn::{Linear, Module, Relu, Sequential};
/// use jit::prelude::*;
///
/// let mut rng = jit::random::rng(1);
/// let mut net = Sequential::new();
/// for widths in [64, 32, 16].windows(2) {
///     net = net.then(Linear::new(widths[0], widths[1], &mut rng)).then(Relu);
/// }
/// assert_eq!(net.infer(&Tensor::<f32>::ones([5, 64])).shape(), [5, 16]);
/// ```
pub struct Sequential<X = Tensor<f32>> {
    layers: Vec<Box<dyn Layer<X>>>,
    /// The lines that added the layers, for messages.
    sites: Vec<Site>,
}

impl Sequential {
    /// Creates the identity of tensors of `f32`; for others it is `default`.
    #[must_use]
    pub fn new() -> Self {
        Sequential::default()
    }
}

impl<X> Sequential<X> {
    /// Adds a layer at the end.
    #[must_use]
    #[track_caller]
    pub fn then(mut self, layer: impl Module<X, Output = X> + Clone + Send + Sync + 'static) -> Self {
        self.layers.push(Box::new(layer));
        self.sites.push(Site::here());
        self
    }

    /// Returns the number of layers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.layers.len()
    }

    /// Returns whether there are no layers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }
}

impl<X> Default for Sequential<X> {
    fn default() -> Self {
        Sequential { layers: Vec::new(), sites: Vec::new() }
    }
}

impl<X> Clone for Sequential<X> {
    fn clone(&self) -> Self {
        Sequential { layers: self.layers.iter().map(|layer| (**layer).boxed()).collect(), sites: self.sites.clone() }
    }
}

impl<X> std::fmt::Debug for Sequential<X> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.layers.iter().map(|layer| (**layer).name())).finish()
    }
}

impl<X> Traverse for Sequential<X> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        // Layers of other types compute something else from the same arrays.
        for layer in &self.layers {
            visitor.text(format_args!("{} {:?}", (**layer).name(), (**layer).id()));
        }
        self.layers.traverse(visitor);
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        self.layers.traverse_mut(visitor);
    }
}

impl<X: Clone> Module<X> for Sequential<X> {
    type Output = X;

    #[track_caller]
    fn forward(&mut self, input: &X) -> X {
        // Calls through trait objects do not pass the caller's line on.
        let _line = crate::enter();
        let mut x = input.clone();
        for (number, (layer, &added)) in self.layers.iter_mut().zip(&self.sites).enumerate() {
            let _layer = misuse::Layer { number, added }.enter();
            x = (**layer).forward(&x);
        }
        x
    }
}
