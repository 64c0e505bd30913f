//! Messages for what an array does not have under the name that other libraries use.
//!
//! Each item exists only for its message: it requires what no array implements. Names for which the compiler suggests
//! the right one by itself, such as `isnan`, are not here.

use super::{Array, Element, UInt};

// Written out, for messages show what macros generate.

/// What a method `absolute` requires.
#[diagnostic::on_unimplemented(message = "`absolute` is `x.abs()`", label = "another name is used here")]
pub trait HasAbsolute {}

/// What a method `amax` requires.
#[diagnostic::on_unimplemented(message = "`amax` is `x.reduce_max()`", label = "another name is used here")]
pub trait HasAmax {}

/// What a method `amin` requires.
#[diagnostic::on_unimplemented(message = "`amin` is `x.reduce_min()`", label = "another name is used here")]
pub trait HasAmin {}

/// What a method `astype` requires.
#[diagnostic::on_unimplemented(message = "`astype` is `x.cast::<T>()`", label = "another name is used here")]
pub trait HasAstype {}

/// What a method `clip` requires.
#[diagnostic::on_unimplemented(message = "`clip` is `x.clamp(low, high)`", label = "another name is used here")]
pub trait HasClip {}

/// What a method `cumprod` requires.
#[diagnostic::on_unimplemented(
    message = "`cumprod` is `x.prefix_reduce(ReduceOp::Mul)`",
    label = "another name is used here"
)]
pub trait HasCumprod {}

/// What a method `cumsum` requires.
#[diagnostic::on_unimplemented(message = "`cumsum` is `x.prefix_sum()`", label = "another name is used here")]
pub trait HasCumsum {}

/// What a method `flip` requires.
#[diagnostic::on_unimplemented(message = "`flip` is `x.reverse()`", label = "another name is used here")]
pub trait HasFlip {}

/// What a method `index_select` requires.
#[diagnostic::on_unimplemented(message = "`index_select` is `x.gather(&indices)`", label = "another name is used here")]
pub trait HasIndexSelect {}

/// What a method `log` requires.
#[diagnostic::on_unimplemented(
    message = "`log` is `x.ln()`; for other bases there are `x.log2()` and `x.log10()`",
    label = "another name is used here"
)]
pub trait HasLog {}

/// What a method `log1p` requires.
#[diagnostic::on_unimplemented(message = "`log1p` is `x.ln_1p()`", label = "another name is used here")]
pub trait HasLog1p {}

/// What a method `logical_and` requires.
#[diagnostic::on_unimplemented(
    message = "`logical_and` is `a & b` on masks, and `a && b` in a `#[jit]` function",
    label = "another name is used here"
)]
pub trait HasLogicalAnd {}

/// What a method `logical_or` requires.
#[diagnostic::on_unimplemented(
    message = "`logical_or` is `a | b` on masks, and `a || b` in a `#[jit]` function",
    label = "another name is used here"
)]
pub trait HasLogicalOr {}

/// What a method `maximum` requires.
#[diagnostic::on_unimplemented(
    message = "`maximum` is `x.max(y)`, and `x.reduce_max()` for the greatest element",
    label = "another name is used here"
)]
pub trait HasMaximum {}

/// What a method `minimum` requires.
#[diagnostic::on_unimplemented(
    message = "`minimum` is `x.min(y)`, and `x.reduce_min()` for the least element",
    label = "another name is used here"
)]
pub trait HasMinimum {}

/// What a method `nonzero` requires.
#[diagnostic::on_unimplemented(
    message = "`nonzero` is `x.ne(0.0).compress()`: the indices of the lanes where a mask is true",
    label = "another name is used here"
)]
pub trait HasNonzero {}

impl<T: Element> Array<T> {
    #[doc(hidden)]
    #[must_use]
    pub fn absolute(&self) -> Self
    where
        Self: HasAbsolute,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn amax(&self) -> Self
    where
        Self: HasAmax,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn amin(&self) -> Self
    where
        Self: HasAmin,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn astype<U: Element>(&self) -> Array<U>
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
    pub fn cumprod(&self) -> Self
    where
        Self: HasCumprod,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn cumsum(&self) -> Self
    where
        Self: HasCumsum,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn flip(&self) -> Self
    where
        Self: HasFlip,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn index_select<A>(&self, _: A) -> Self
    where
        Self: HasIndexSelect,
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
    pub fn logical_and<A>(&self, _: A) -> Self
    where
        Self: HasLogicalAnd,
    {
        self.clone()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn logical_or<A>(&self, _: A) -> Self
    where
        Self: HasLogicalOr,
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
    pub fn nonzero(&self) -> UInt
    where
        Self: HasNonzero,
    {
        self.cast()
    }
}
