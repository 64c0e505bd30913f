//! Variables of one type: those declared by a `let` without a value, and those that replace them in regions.

use std::convert::Infallible;
use std::marker::PhantomData;

/// Represents the type of variables.
#[derive(Debug)]
pub struct Tie<T>(PhantomData<fn() -> T>);

/// Creates a type that is inferred.
#[must_use]
#[inline(always)]
pub fn tie<T>() -> Tie<T> {
    Tie(PhantomData)
}

impl<T> Tie<T> {
    /// Returns `None`; Rust does not know this, and code that needs the value is never reached.
    #[inline(always)]
    pub fn unreached(&self) -> Option<Infallible> {
        None
    }

    /// Fixes the type of the tie to that of a variable.
    #[inline(always)]
    pub fn is_of(&self, _: &T) {}
}
