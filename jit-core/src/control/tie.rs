//! Variables of one type: those that a `let` without a value declares, and those that replace them in regions.

use std::convert::Infallible;
use std::marker::PhantomData;

/// Stands for the type of variables.
#[derive(Debug)]
pub struct Tie<T>(PhantomData<fn() -> T>);

/// A type that is inferred.
#[must_use]
#[inline(always)]
pub fn tie<T>() -> Tie<T> {
    Tie(PhantomData)
}

impl<T> Tie<T> {
    /// Nothing, which Rust does not know: what follows a value is never reached.
    #[inline(always)]
    pub fn unreached(&self) -> Option<Infallible> {
        None
    }

    /// The tie is of the type of a variable.
    #[inline(always)]
    pub fn is_of(&self, _: &T) {}
}
