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

/// What a method `amax` requires.
#[diagnostic::on_unimplemented(message = "`amax` is `x.reduce_max(axes)`", label = "another name is used here")]
pub trait HasAmax {}

/// What a method `amin` requires.
#[diagnostic::on_unimplemented(message = "`amin` is `x.reduce_min(axes)`", label = "another name is used here")]
pub trait HasAmin {}

/// What a method `astype` requires.
#[diagnostic::on_unimplemented(message = "`astype` is `x.cast::<T>()`", label = "another name is used here")]
pub trait HasAstype {}

/// What a method `clip` requires.
#[diagnostic::on_unimplemented(message = "`clip` is `x.clamp(low, high)`", label = "another name is used here")]
pub trait HasClip {}

/// What a method `cumprod` requires.
#[diagnostic::on_unimplemented(
    message = "`cumprod` is `x.prefix(axis, ReduceOp::Mul, Scan::Inclusive)`",
    label = "another name is used here"
)]
pub trait HasCumprod {}

/// What a method `cumsum` requires.
#[diagnostic::on_unimplemented(message = "`cumsum` is `x.prefix_sum(axis)`", label = "another name is used here")]
pub trait HasCumsum {}

/// What a method `dim` requires.
#[diagnostic::on_unimplemented(
    message = "`dim` is `x.ndim()`, and the size of one axis is `x.size(axis)`",
    label = "another name is used here"
)]
pub trait HasDim {}

/// What a method `expand` requires.
#[diagnostic::on_unimplemented(message = "`expand` is `x.broadcast_to(shape)`", label = "another name is used here")]
pub trait HasExpand {}

/// What a method `flatten` requires.
#[diagnostic::on_unimplemented(message = "`flatten` is `x.ravel()`", label = "another name is used here")]
pub trait HasFlatten {}

/// What a method `log` requires.
#[diagnostic::on_unimplemented(
    message = "`log` is `x.ln()`; for other bases there are `x.log2()` and `x.log10()`",
    label = "another name is used here"
)]
pub trait HasLog {}

/// What a method `log1p` requires.
#[diagnostic::on_unimplemented(message = "`log1p` is `x.ln_1p()`", label = "another name is used here")]
pub trait HasLog1p {}

/// What a method `masked_fill` requires.
#[diagnostic::on_unimplemented(
    message = "`masked_fill` is `mask.select(value, &x)`",
    label = "another name is used here"
)]
pub trait HasMaskedFill {}

/// What a method `maximum` requires.
#[diagnostic::on_unimplemented(
    message = "`maximum` is `x.max(y)`, and `x.reduce_max(axes)` for the greatest element",
    label = "another name is used here"
)]
pub trait HasMaximum {}

/// What a method `minimum` requires.
#[diagnostic::on_unimplemented(
    message = "`minimum` is `x.min(y)`, and `x.reduce_min(axes)` for the least element",
    label = "another name is used here"
)]
pub trait HasMinimum {}

/// What a method `mm` requires.
#[diagnostic::on_unimplemented(message = "`mm` is `x.matmul(&y)`", label = "another name is used here")]
pub trait HasMm {}

/// What a method `numel` requires.
#[diagnostic::on_unimplemented(message = "`numel` is `x.len()`", label = "another name is used here")]
pub trait HasNumel {}

/// What a method `t` requires.
#[diagnostic::on_unimplemented(message = "`t` is `x.transpose()`", label = "another name is used here")]
pub trait HasT {}

impl<T: Element> Tensor<T> {
    #[doc(hidden)]
    #[must_use]
    pub fn amax<A>(&self, _: A) -> Self
    where
        Self: HasAmax,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn amin<A>(&self, _: A) -> Self
    where
        Self: HasAmin,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn astype<U: Element>(&self) -> Tensor<U>
    where
        Self: HasAstype,
    {
        self.cast()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn clip<A, B>(&self, _: A, _: B) -> Self
    where
        Self: HasClip,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn cumprod<A>(&self, _: A) -> Self
    where
        Self: HasCumprod,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn cumsum<A>(&self, _: A) -> Self
    where
        Self: HasCumsum,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn dim(&self) -> usize
    where
        Self: HasDim,
    {
        self.ndim()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn expand<A>(&self, _: A) -> Self
    where
        Self: HasExpand,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn flatten(&self) -> Self
    where
        Self: HasFlatten,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn log(&self) -> Self
    where
        Self: HasLog,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn log1p(&self) -> Self
    where
        Self: HasLog1p,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn masked_fill<A, B>(&self, _: A, _: B) -> Self
    where
        Self: HasMaskedFill,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn maximum<A>(&self, _: A) -> Self
    where
        Self: HasMaximum,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn minimum<A>(&self, _: A) -> Self
    where
        Self: HasMinimum,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn mm<A>(&self, _: A) -> Self
    where
        Self: HasMm,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn numel(&self) -> usize
    where
        Self: HasNumel,
    {
        self.len()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn t(&self) -> Self
    where
        Self: HasT,
    {
        self.clone()
    }

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
