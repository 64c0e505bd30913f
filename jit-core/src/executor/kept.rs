//! What an executor keeps of `#[constexpr]` values, so that its function can run again, for derivatives.
//!
//! A function may run again if all values can be copied and belong to it: references are replaced by copies of what
//! they refer to. Whether that is so is found by method lookup, since the types are the user's: a method of [`Kept`]
//! for types that are `Clone`, `Send` and `Sync`, and one of [`Used`] for all others, which run once.

use std::borrow::Borrow;
use std::sync::Arc;

use crate::freeze::{Arguments, Closure, Recordable};

/// A value behind a reference, or a copy of it.
#[doc(hidden)]
pub struct Behind<'a, T: ?Sized>(pub &'a T);

/// A copy of a value that was behind a reference.
#[doc(hidden)]
pub struct Copied<T: ToOwned + ?Sized>(T::Owned);

impl<T: ToOwned<Owned: Clone> + ?Sized> Clone for Copied<T> {
    fn clone(&self) -> Self {
        Copied(self.0.clone())
    }
}

impl<T: ToOwned + ?Sized> Copied<T> {
    /// Returns the value.
    pub fn lend(&self) -> &T {
        self.0.borrow()
    }
}

/// A value that is used once: it is not `Clone`.
#[doc(hidden)]
pub struct Once<T>(T);

impl<T> Once<T> {
    pub fn new(value: T) -> Once<T> {
        Once(value)
    }

    /// Returns the value.
    pub fn take(self) -> T {
        self.0
    }
}

impl<T: ?Sized> Once<&T> {
    /// Returns the value.
    pub fn lend(&self) -> &T {
        self.0
    }
}

#[doc(hidden)]
pub trait CanCopy {
    type Copied;

    /// Returns a copy of the value.
    fn kept(&self) -> Self::Copied;
}

impl<T: ToOwned<Owned: Clone + Send + Sync> + ?Sized> CanCopy for Behind<'_, T> {
    type Copied = Copied<T>;

    fn kept(&self) -> Copied<T> {
        Copied(self.0.to_owned())
    }
}

#[doc(hidden)]
pub trait CannotCopy<'a, T: ?Sized> {
    /// Returns the value.
    fn kept(&self) -> Once<&'a T>;
}

impl<'a, T: ?Sized> CannotCopy<'a, T> for &Behind<'a, T> {
    fn kept(&self) -> Once<&'a T> {
        Once(self.0)
    }
}

/// Passes on a body, with its type: a function of copies of the arguments, and of what is kept.
#[doc(hidden)]
pub fn body<A: Arguments, C, R, B: Fn(&mut A::Proxies, C) -> R>(_: &A, _: &C, body: B) -> B {
    body
}

/// What is kept of all values.
#[doc(hidden)]
pub struct Values<'a, C>(pub &'a C);

#[doc(hidden)]
pub trait Kept<C> {
    /// Returns a body that can run again.
    fn again<A, R, B>(&self, arguments: &A, body: B) -> Option<Closure<A::Proxies, R>>
    where
        A: Arguments,
        R: Recordable,
        B: Fn(&mut A::Proxies, C) -> R + Send + Sync + 'static;
}

impl<C: Clone + Send + Sync + 'static> Kept<C> for Values<'_, C> {
    fn again<A, R, B>(&self, _: &A, body: B) -> Option<Closure<A::Proxies, R>>
    where
        A: Arguments,
        R: Recordable,
        B: Fn(&mut A::Proxies, C) -> R + Send + Sync + 'static,
    {
        let kept = self.0.clone();
        Some(Arc::new(move |proxies: &mut A::Proxies| body(proxies, kept.clone())))
    }
}

#[doc(hidden)]
pub trait Used<C> {
    /// Returns none: the body runs once.
    fn again<A, R, B>(&self, _: &A, _: B) -> Option<Closure<A::Proxies, R>>
    where
        A: Arguments,
        R: Recordable,
        B: Fn(&mut A::Proxies, C) -> R,
    {
        None
    }
}

impl<C> Used<C> for &Values<'_, C> {}
