//! Values that generated code uses more often than Rust's moves allow, and values that must be known on the host.

use std::hash::BuildHasher as _;

use rustc_hash::FxBuildHasher;

/// A value that operators of a `#[jit]` function take without moving it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the operand of an operator in a `#[jit]` function",
    label = "this operand has type `{Self}`, which is not `Clone`",
    note = "operands are cloned so that they can be used again; mark the statement with `#[host]` or take a reference \
        with `&`"
)]
pub trait Operand: Sized {
    /// Returns a clone.
    #[must_use]
    fn again(&self) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Clone> Operand for T {
    #[inline(always)]
    fn again(&self) -> T {
        self.clone()
    }
}

/// A value for which a trace can be made: a host value that is comparable.
#[diagnostic::on_unimplemented(
    message = "a `#[constexpr]` parameter must be known while tracing; `{Self}` is not",
    label = "`{Self}` cannot be the key of a trace",
    note = "it takes host values that are `Eq + Hash`; pass a float as its bits, and an array without `#[constexpr]`"
)]
pub trait Constexpr {
    /// Checks the type of a `#[constexpr]` parameter, and returns a hash of its value.
    fn constexpr(&self) -> u64;
}

#[diagnostic::do_not_recommend]
impl<T: Eq + std::hash::Hash + ?Sized> Constexpr for T {
    #[inline]
    fn constexpr(&self) -> u64 {
        FxBuildHasher.hash_one(self)
    }
}
