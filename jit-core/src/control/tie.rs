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
    /// Nothing, though Rust takes it for a value that a variable may be assigned in code that is never reached.
    #[inline(always)]
    pub fn unreached(&self) -> Option<(T, Infallible)> {
        None
    }
}
