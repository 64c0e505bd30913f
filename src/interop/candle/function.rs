//! Functions over tensors as operations of candle. Candle keeps no more of an operation than its inputs and its result,
//! so a derivative computes the function once more.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use candle_core::{
    CpuStorage, CudaStorage, CustomOp1, CustomOp2, CustomOp3, Layout, MetalStorage, Result, Shape, Tensor,
};

use super::Exchange;
use crate::{Error, ErrorKind, Traverse, ad};

/// A differentiable function over tensors as an operation of candle: see [`function`].
///
/// It implements `CustomOp1`, `CustomOp2` or `CustomOp3` of candle, for one to three inputs. Cheap to clone; clones are
/// the same function.
pub struct Function<F, Inputs, Output> {
    name: &'static str,
    body: Arc<F>,
    types: PhantomData<fn(Inputs) -> Output>,
}

/// Makes an operation of candle of a function with one to three inputs, which are references to a
/// [`Tensor`](crate::tensor::Tensor) or an [`Array`](crate::Array), and one such result. The name is in candle's
/// messages. See [the module](super) for an example.
///
/// The result has the shape that the function returns. Backwards, the function is called once more, and differentiated
/// by [`ad::vjp`]; inputs that candle does not track, and integers, get no gradient. What a closure has captured is a
/// constant for candle.
///
/// The function runs on the current device. It may be called more often than the program calls the operation, and on
/// any thread, so it must return the same result for the same inputs.
///
/// # Errors
///
/// Candle's own errors, which quote ours: when inputs are not in memory of the host or have elements of another type,
/// when the result is computed through something that has no derivative, and as
/// [`Array::to_vec`](crate::Array::to_vec).
///
/// # Panics
///
/// When the function panics, for example because shapes do not match.
#[must_use]
pub fn function<F, Inputs, Output>(name: &'static str, body: F) -> Function<F, Inputs, Output>
where
    F: Body<Inputs, Output>,
{
    Function { name, body: Arc::new(body), types: PhantomData }
}

/// A function that can be an operation of candle: from one to three references to a [`Tensor`](crate::tensor::Tensor)
/// or an [`Array`](crate::Array) to one of these.
#[diagnostic::on_unimplemented(
    message = "this function cannot be an operation of candle",
    note = "it takes one to three references to a `Tensor` or `Array`, and returns one; elements are those of candle",
    note = "write the types of a closure's parameters: `|x: &Tensor<f32>| …`"
)]
pub trait Body<Inputs, Output>: Send + Sync + 'static {
    /// Calls the function.
    fn call(&self, inputs: &Inputs) -> Output;
}

impl<F, Inputs, Output> Function<F, Inputs, Output>
where
    F: Body<Inputs, Output>,
    Inputs: Traverse + Clone,
    Output: Exchange,
{
    fn forward(&self, inputs: &Inputs) -> Result<(CpuStorage, Shape)> {
        self.body.call(inputs).to_storage().map_err(candle_core::Error::wrap)
    }

    /// Returns the gradients of the inputs, which are not evaluated yet.
    fn backward(&self, inputs: &Inputs, gradient: &Tensor) -> crate::Result<Inputs> {
        let (_, pull_back) = ad::vjp(|inputs: &Inputs| self.body.call(inputs), inputs)?;
        pull_back(&Output::from_candle(gradient)?)
    }

    fn only_on_the_host<T>(&self, device: &str) -> Result<T> {
        let what = format!("`{}` takes tensors of candle in memory of the host, and got one of {device}", self.name);
        let hint = "copy it before: `tensor.to_device(&candle_core::Device::Cpu)?`";
        Err(candle_core::Error::wrap(Error::new(ErrorKind::InvalidArgument, what).with_hint(hint)))
    }
}

/// Returns the gradient of an input in its shape; none if candle has no use for it.
fn gradient_of<X: Exchange>(input: &Tensor, gradient: &X) -> Result<Option<Tensor>> {
    if !(input.track_op() && X::DTYPE.is_float()) {
        return Ok(None);
    }
    let gradient = gradient.to_candle().map_err(candle_core::Error::wrap)?;
    gradient.reshape(input.shape()).map(Some)
}

/// Implements an operation of candle for functions of some inputs.
macro_rules! operation {
    ($CustomOp:ident, $($X:ident $x:ident $storage:ident $layout:ident $optional:ty),+) => {
        impl<F, $($X,)+ Y> Body<($($X,)+), Y> for F
        where
            F: Fn($(&$X),+) -> Y + Send + Sync + 'static,
            $($X: Exchange,)+
            Y: Exchange,
        {
            fn call(&self, ($($x,)+): &($($X,)+)) -> Y {
                self($($x),+)
            }
        }

        impl<F, $($X,)+ Y> $CustomOp for Function<F, ($($X,)+), Y>
        where
            F: Fn($(&$X),+) -> Y + Send + Sync + 'static,
            $($X: Exchange,)+
            Y: Exchange,
        {
            fn name(&self) -> &'static str {
                self.name
            }

            fn cpu_fwd(&self, $($storage: &CpuStorage, $layout: &Layout),+) -> Result<(CpuStorage, Shape)> {
                let inputs = ($($X::from_storage($storage, $layout).map_err(candle_core::Error::wrap)?,)+);
                self.forward(&inputs)
            }

            fn cuda_fwd(&self, $($storage: &CudaStorage, $layout: &Layout),+) -> Result<(CudaStorage, Shape)> {
                let _ = ($($storage, $layout),+);
                self.only_on_the_host("CUDA")
            }

            fn metal_fwd(&self, $($storage: &MetalStorage, $layout: &Layout),+) -> Result<(MetalStorage, Shape)> {
                let _ = ($($storage, $layout),+);
                self.only_on_the_host("Metal")
            }

            #[allow(unused_parens, clippy::needless_question_mark, reason = "one input has no tuple")]
            fn bwd(&self, $($x: &Tensor,)+ _: &Tensor, gradient: &Tensor) -> Result<($($optional),+)> {
                let inputs = ($($X::from_candle($x).map_err(candle_core::Error::wrap)?,)+);
                let ($($storage,)+) = self.backward(&inputs, gradient).map_err(candle_core::Error::wrap)?;
                Ok(($(gradient_of($x, &$storage)?),+))
            }
        }
    };
}

operation!(CustomOp1, X1 x1 s1 l1 Option<Tensor>);
operation!(CustomOp2, X1 x1 s1 l1 Option<Tensor>, X2 x2 s2 l2 Option<Tensor>);
operation!(CustomOp3, X1 x1 s1 l1 Option<Tensor>, X2 x2 s2 l2 Option<Tensor>, X3 x3 s3 l3 Option<Tensor>);

impl<F, Inputs, Output> Clone for Function<F, Inputs, Output> {
    fn clone(&self) -> Self {
        Function { name: self.name, body: Arc::clone(&self.body), types: PhantomData }
    }
}

impl<F, Inputs, Output> fmt::Debug for Function<F, Inputs, Output> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Function").field(&self.name).finish()
    }
}
