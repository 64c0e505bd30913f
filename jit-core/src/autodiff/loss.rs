//! What functions return that are differentiated.

use crate::array::{Array, FloatElement};
use crate::graph::Var;
use crate::traverse::{Traverse, owned_arrays};

/// What a function returns that [`grad`](super::grad) and its like differentiate: an array or a tensor of floats, alone
/// or as the first part of a pair. The second part is any value that the function computed besides, such as a
/// prediction; it has no influence on the gradient.
///
/// ```
/// # use jit_core as jit;
/// use jit::{Float, ad};
///
/// let fit = ad::value_and_grad(|x: &Float| {
///     let rest = x - 3.0;
///     (rest.square().sum(), rest)
/// });
/// let ((loss, rest), gradient) = fit(&Float::from([1.0, 2.0]))?;
/// assert_eq!((loss.item()?, rest.to_vec()?), (5.0, vec![-2.0, -1.0]));
/// assert_eq!(gradient.to_vec()?, [-4.0, -2.0]);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be differentiated",
    label = "expected an array or a tensor of floats, or a pair of one and further values",
    note = "a function that is differentiated returns a `Float`, a `Tensor<f32>` or another float type of these; what \
            else it computes is the second part of a pair: `(loss, prediction)`"
)]
pub trait Loss: Traverse + Clone {
    /// Returns the array that is differentiated: the first one.
    #[doc(hidden)]
    fn objective(&self) -> Var {
        owned_arrays(self).swap_remove(0)
    }
}

impl<T: FloatElement> Loss for Array<T> {}
impl<L: Loss, A: Traverse + Clone> Loss for (L, A) {}
