//! Messages for what a tensor does not have under the name that other libraries use.
//!
//! Each item exists only for its message: it requires what no tensor implements.

use std::ops;

use super::Tensor;
use crate::Element;

/// Tensors whose elements have addresses: none.
#[diagnostic::on_unimplemented(
    message = "a tensor is not indexed by `[]`",
    label = "elements of `{Self}` have no address, as they are computed when a kernel runs",
    note = "`x.slice(s![0, .., 1..3])` selects elements, rows and ranges, `x.set(s![0], value)` replaces them, and \
        `x.slice(s![2, 3]).item()?` reads one to the host"
)]
pub trait HasAddress {}

#[diagnostic::do_not_recommend]
impl<T: Element, I> ops::Index<I> for Tensor<T>
where
    Tensor<T>: HasAddress,
{
    type Output = Tensor<T>;

    fn index(&self, _: I) -> &Tensor<T> {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<T: Element, I> ops::IndexMut<I> for Tensor<T>
where
    Tensor<T>: HasAddress,
{
    fn index_mut(&mut self, _: I) -> &mut Tensor<T> {
        self
    }
}

/// Methods of other libraries, each with the one to write.
macro_rules! other_names {
    ($($method:ident $trait:ident $message:literal;)*) => {
        $(
            #[diagnostic::on_unimplemented(message = $message, label = "another name is used here")]
            pub trait $trait {}
        )*

        impl<T: Element> Tensor<T> {
            $(
                #[doc(hidden)]
                #[must_use]
                pub fn $method<A>(&self, _: A) -> Self
                where
                    Self: $trait,
                {
                    self.clone()
                }
            )*
        }
    };
}

other_names! {
    view HasView "`view` is `x.reshape([2, -1])`, which copies nothing";
    permute HasPermute "`permute` is `x.permute_axes([0, 2, 1])`";
    unsqueeze HasUnsqueeze "`unsqueeze` is `x.expand_dims(axis)`";
    pow HasPow "`pow` is `x.powi(2)` for a whole number, and `x.powf(y)` for a float or a tensor";
}
