//! `match` on numbers and truth values: the tests of patterns.
//!
//! A host value is tested by Rust's own `match`. For an array, Rust tests a zero of its element type, without effect,
//! and comparisons with the pattern's literals yield the mask.

use std::convert::Infallible;

use super::index::{Indexed, Probe};
use super::operand::Operand;
use crate::array::{Array, Element, Mask};

/// Method lookup finds this trait for arrays, and references to them.
pub trait MatchesTraced {
    /// The element type.
    type Element: Element;
    /// Begins the match of an array.
    fn __jit_match(self) -> TracedMatch<Self::Element>;
    /// Returns the array, on which Rust's `match` is rejected.
    fn __jit_known(self) -> Array<Self::Element>;
}

impl<T: Element, A: Indexed<Base = Array<T>> + ?Sized> MatchesTraced for Probe<'_, A> {
    type Element = T;
    fn __jit_match(self) -> TracedMatch<T> {
        TracedMatch { value: self.0.base().clone(), element: T::default() }
    }
    fn __jit_known(self) -> Array<T> {
        self.0.base().clone()
    }
}

/// Method lookup finds this trait for all other types.
pub trait MatchesHost<'a> {
    /// The type.
    type Value: ?Sized;
    /// Begins the match of a host value.
    fn __jit_match(self) -> HostMatch<'a, Self::Value>;
    /// Begins a match that Rust executes.
    fn __jit_known(self) -> HostMatch<'a, Self::Value>;
}

impl<'a, X: ?Sized> MatchesHost<'a> for &Probe<'a, X> {
    type Value = X;
    #[inline(always)]
    fn __jit_match(self) -> HostMatch<'a, X> {
        HostMatch(self.0)
    }
    #[inline(always)]
    fn __jit_known(self) -> HostMatch<'a, X> {
        HostMatch(self.0)
    }
}

/// Values for which Rust can check that patterns are exhaustive: not arrays.
#[diagnostic::on_unimplemented(
    message = "a traced `match` needs a final `_` arm",
    label = "this `{Self}` differs by lane, and no arm matches the remaining values",
    note = "on a traced value `match` compares lane by lane: end it with `_ => …`"
)]
pub trait Exhausted {
    /// A reference to the value.
    type Value;
    /// Returns the value that Rust matches.
    fn exhausted(self) -> Self::Value;
}

impl<'a, X: ?Sized> Exhausted for HostMatch<'a, X> {
    type Value = &'a X;
    #[inline(always)]
    fn exhausted(self) -> &'a X {
        self.0
    }
}

/// Values against which patterns can be tested while tracing: not arrays.
#[diagnostic::on_unimplemented(
    message = "`if let` and `while let` are decided while tracing; `{Self}` has no value yet",
    label = "this differs by lane",
    note = "compare with `==`, or use a `match` with a final `_` arm"
)]
pub trait KnownValue {
    /// A reference to the value.
    type Value;
    /// Returns the value that Rust matches.
    fn known(self) -> Self::Value;
}

impl<'a, X: ?Sized> KnownValue for HostMatch<'a, X> {
    type Value = &'a X;
    #[inline(always)]
    fn known(self) -> &'a X {
        self.0
    }
}

/// Guard conditions of a pattern.
#[diagnostic::on_unimplemented(
    message = "a pattern test is decided on the host; nest `if` for the traced part",
    label = "expected `bool`, found `{Self}`",
    note = "next to a pattern in a `let` chain, a condition is decided for all lanes at once, and so is the guard of \
        an arm if it has a `let`, or if the matched value may be a `&mut` reference"
)]
pub trait Decided {
    /// Returns the condition's value.
    fn decided(self) -> bool;
}

#[diagnostic::do_not_recommend]
impl Decided for bool {
    #[inline(always)]
    fn decided(self) -> bool {
        self
    }
}

/// Returns the value of a guard whose pattern matches, or a condition that never holds.
#[inline(always)]
pub fn where_matched<C: From<bool>>(guard: Option<C>) -> C {
    guard.unwrap_or_else(|| C::from(false))
}

/// A host value to be matched.
pub struct HostMatch<'a, X: ?Sized>(&'a X);

impl<'a, X: ?Sized> HostMatch<'a, X> {
    /// Returns whether Rust matches it.
    #[inline(always)]
    pub fn is_host(&self) -> bool {
        true
    }
    /// Precedes a move that Rust executes.
    #[inline(always)]
    pub fn host_only(&self) {}
    /// Replaces that move for an array.
    pub fn again<Y>(&self, _: &Y) -> Y {
        unreachable!("host values are moved")
    }
    /// Returns the value that Rust matches.
    #[inline(always)]
    pub fn host(&self) -> &'a X {
        self.0
    }
    /// Does nothing: Rust has compared.
    #[inline(always)]
    pub fn equals<P>(&self, _: P) {}
    /// Does nothing: Rust has compared.
    #[inline(always)]
    pub fn at_least<P>(&self, _: P) {}
    /// Does nothing: Rust has compared.
    #[inline(always)]
    pub fn at_most<P>(&self, _: P) {}
    /// Does nothing: Rust has compared.
    #[inline(always)]
    pub fn below<P>(&self, _: P) {}
    /// Does nothing: Rust has compared.
    #[inline(always)]
    pub fn and(&self, (): (), (): ()) {}
    /// Does nothing: Rust has compared.
    #[inline(always)]
    pub fn or(&self, (): (), (): ()) {}
    /// Returns the result of Rust's match.
    #[inline(always)]
    pub fn test(&self, found: bool, (): ()) -> bool {
        found
    }
}

/// An array to be matched.
#[derive(Debug)]
pub struct TracedMatch<T: Element> {
    value: Array<T>,
    element: T,
}

impl<T: Element> TracedMatch<T> {
    /// Returns whether Rust matches it.
    pub fn is_host(&self) -> bool {
        false
    }
    /// Precedes a move that Rust would execute.
    pub fn host_only(&self) -> Infallible {
        unreachable!("arrays are cloned, not moved")
    }
    /// Replaces that move: returns another handle of the array.
    #[inline(always)]
    pub fn again<Y: Operand>(&self, value: &Y) -> Y {
        value.again()
    }
    /// Returns the value that Rust matches.
    pub fn host(&self) -> &T {
        &self.element
    }
    /// Returns the lanes that are equal to a value.
    #[track_caller]
    pub fn equals(&self, value: T) -> Mask {
        self.value.eq(value)
    }
    /// Returns the lanes that are not below a value.
    #[track_caller]
    pub fn at_least(&self, value: T) -> Mask {
        self.value.ge(value)
    }
    /// Returns the lanes that are not above a value.
    #[track_caller]
    pub fn at_most(&self, value: T) -> Mask {
        self.value.le(value)
    }
    /// Returns the lanes that are below a value.
    #[track_caller]
    pub fn below(&self, value: T) -> Mask {
        self.value.lt(value)
    }
    /// Returns the lanes of both.
    #[track_caller]
    pub fn and(&self, left: Mask, right: Mask) -> Mask {
        left & right
    }
    /// Returns the lanes of either.
    #[track_caller]
    pub fn or(&self, left: Mask, right: Mask) -> Mask {
        left | right
    }
    /// Returns the result of the comparisons.
    pub fn test(&self, _: bool, found: Mask) -> Mask {
        found
    }
}
