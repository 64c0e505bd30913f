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

// Methods of other libraries, each with the one to write. Written out, for messages show what macros generate.

/// What a method `view` requires.
#[diagnostic::on_unimplemented(
    message = "`view` is `x.reshape([2, -1])`, which copies nothing",
    label = "another name is used here"
)]
pub trait HasView {}

/// What a method `permute` requires.
#[diagnostic::on_unimplemented(
    message = "`permute` is `x.permute_axes([0, 2, 1])`",
    label = "another name is used here"
)]
pub trait HasPermute {}

/// What a method `unsqueeze` requires.
#[diagnostic::on_unimplemented(message = "`unsqueeze` is `x.expand_dims(axis)`", label = "another name is used here")]
pub trait HasUnsqueeze {}

/// What a method `pow` requires.
#[diagnostic::on_unimplemented(
    message = "`pow` is `x.powi(2)` for a whole number, and `x.powf(y)` for a float or a tensor",
    label = "another name is used here"
)]
pub trait HasPow {}

impl<T: Element> Tensor<T> {
    #[doc(hidden)]
    #[must_use]
    pub fn view<A>(&self, _: A) -> Self
    where
        Self: HasView,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn permute<A>(&self, _: A) -> Self
    where
        Self: HasPermute,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn unsqueeze<A>(&self, _: A) -> Self
    where
        Self: HasUnsqueeze,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn pow<A>(&self, _: A) -> Self
    where
        Self: HasPow,
    {
        self.clone()
    }
}
