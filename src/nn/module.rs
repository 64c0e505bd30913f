//! Modules: values with parameters that compute an output from an input.

use crate::tensor::Tensor;
use crate::{Traverse, Visitor, VisitorMut};

/// A value with parameters, which computes an output from an input of type `X`.
///
/// A module is an ordinary value: a struct of parameters, buffers and other modules that derives `Traverse`. That makes
/// all of them visible to derivatives, optimisers, frozen functions and files. There is no derive of its own: what an
/// array is for is part of its type, [`Parameter`](super::Parameter) or [`Buffer`](super::Buffer).
///
/// ```
/// use jit::nn::{Linear, Model, Module, Relu};
/// use jit::prelude::*;
///
/// #[derive(Clone, Traverse)]
/// struct Net {
///     first: Linear,
///     second: Linear,
/// }
///
/// impl Module for Net {
///     type Output = Tensor<f32>;
///
///     fn forward(&mut self, x: &Tensor<f32>) -> Tensor<f32> {
///         let hidden = self.first.forward(x);
///         self.second.forward(&Relu.forward(&hidden))
///     }
/// }
///
/// let mut rng = jit::random::rng(1);
/// let net = Net { first: Linear::new(2, 8, &mut rng), second: Linear::new(8, 1, &mut rng) };
/// assert_eq!(net.infer(&Tensor::<f32>::zeros([5, 2])).shape(), [5, 1]);
/// ```
///
/// Tuples of modules are modules, one after the other; so are lists of them, and functions
/// ([`Function`](super::Function)).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a module for inputs of type `{X}`",
    label = "this has no `forward` for `{X}`",
    note = "a closure becomes a module by `nn::Function::new(|x: &Tensor<f32>| …)`; element types are not converted \
        implicitly"
)]
pub trait Module<X = Tensor<f32>>: Traverse {
    /// What is computed.
    type Output;

    /// Returns the output for an input. In training mode this may change state of the module: running statistics,
    /// generators of random numbers.
    // Lines in messages are those inside of it: an implementation that is `#[track_caller]` reports those of its
    // caller.
    fn forward(&mut self, input: &X) -> Self::Output;

    /// Returns the output in evaluation mode. The module stays as it is, and no gradients flow to its parameters.
    #[must_use]
    #[track_caller]
    fn infer(&self, input: &X) -> Self::Output
    where
        Self: Clone + Sized,
    {
        // No closure, so that the reported line is that of our caller.
        let mut copy = crate::ad::detach(self);
        super::Model::eval(&mut copy);
        copy.forward(input)
    }
}

/// A function as a module without parameters, for [`Sequential`](super::Sequential) and tuples.
///
/// ```
/// use jit::nn::{Function, Linear, Model, Module};
/// use jit::prelude::*;
///
/// let mut rng = jit::random::rng(1);
/// let net = (Linear::new(4, 3, &mut rng), Function::new(|x: &Tensor<f32>| x.sin()), Linear::new(3, 2, &mut rng));
/// assert_eq!(net.infer(&Tensor::<f32>::ones([4])).shape(), [2]);
/// ```
///
/// The function captures nothing, because arrays and numbers that it holds would be invisible to derivatives and to
/// the keys of frozen functions; that it does not is checked when the program is compiled. A module that needs some is
/// a struct.
#[derive(Clone, Copy)]
pub struct Function<F>(F);

impl<F> Function<F> {
    /// Makes a module of a function that captures nothing.
    pub const fn new(function: F) -> Self {
        const { assert!(size_of::<F>() == 0, "a function that is a module captures nothing: write a struct instead") }
        Function(function)
    }
}

impl<F> std::fmt::Debug for Function<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Function")
    }
}

impl<F> Traverse for Function<F> {
    fn traverse(&self, _: &mut Visitor<'_>) {}

    fn traverse_mut(&mut self, _: &mut VisitorMut<'_>) {}
}

impl<X, Y, F: Fn(&X) -> Y> Module<X> for Function<F> {
    type Output = Y;

    #[track_caller]
    fn forward(&mut self, input: &X) -> Y {
        (self.0)(input)
    }
}

impl<X, M: Module<X> + ?Sized> Module<X> for Box<M> {
    type Output = M::Output;

    #[track_caller]
    fn forward(&mut self, input: &X) -> M::Output {
        // A call through a trait object does not pass the caller's line on.
        let _line = crate::enter();
        (**self).forward(input)
    }
}

/// One after the other.
impl<X: Clone, M: Module<X, Output = X>> Module<X> for Vec<M> {
    type Output = X;

    #[track_caller]
    fn forward(&mut self, input: &X) -> X {
        let mut x = input.clone();
        for module in self {
            x = module.forward(&x);
        }
        x
    }
}

/// Nothing changes the input if there is no module.
impl<X: Clone, M: Module<X, Output = X>> Module<X> for Option<M> {
    type Output = X;

    #[track_caller]
    fn forward(&mut self, input: &X) -> X {
        match self {
            Some(module) => module.forward(input),
            None => input.clone(),
        }
    }
}

macro_rules! chains {
    ($([$first:ident $($before:ident $name:ident $index:tt)*] $last:ident;)*) => {$(
        /// One after the other.
        impl<X, $first: Module<X>, $($name: Module<$before::Output>),*> Module<X> for ($first, $($name,)*) {
            type Output = $last::Output;

            #[track_caller]
            fn forward(&mut self, input: &X) -> Self::Output {
                let x = self.0.forward(input);
                $(let x = self.$index.forward(&x);)*
                x
            }
        }
    )*};
}

chains! {
    [A] A;
    [A A B 1] B;
    [A A B 1 B C 2] C;
    [A A B 1 B C 2 C D 3] D;
    [A A B 1 B C 2 C D 3 D E 4] E;
    [A A B 1 B C 2 C D 3 D E 4 E F 5] F;
    [A A B 1 B C 2 C D 3 D E 4 E F 5 F G 6] G;
    [A A B 1 B C 2 C D 3 D E 4 E F 5 F G 6 G H 7] H;
    [A A B 1 B C 2 C D 3 D E 4 E F 5 F G 6 G H 7 H I 8] I;
    [A A B 1 B C 2 C D 3 D E 4 E F 5 F G 6 G H 7 H I 8 I J 9] J;
    [A A B 1 B C 2 C D 3 D E 4 E F 5 F G 6 G H 7 H I 8 I J 9 J K 10] K;
    [A A B 1 B C 2 C D 3 D E 4 E F 5 F G 6 G H 7 H I 8 I J 9 J K 10 K L 11] L;
}
