//! `match` on numbers and truth values: the tests of patterns.
//!
//! A host value is tested by Rust's own `match`. For an array Rust tests a zero of its element type, without effect,
//! and the comparisons with the pattern's literals give the mask.

use std::convert::Infallible;

use super::index::{Indexed, Probe};
use super::operand::Operand;
use crate::array::{Array, Element, Mask};

/// Finds arrays, and references to them.
pub trait MatchesTraced {
    /// The element type.
    type Element: Element;
    /// An array that is matched.
    fn __jit_match(self) -> TracedMatch<Self::Element>;
    /// An array that Rust is asked to match.
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

/// Finds all other types.
pub trait MatchesHost<'a> {
    /// The type.
    type Value: ?Sized;
    /// A host value that is matched.
    fn __jit_match(self) -> HostMatch<'a, Self::Value>;
    /// A host value that Rust matches.
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

/// Values whose patterns Rust can find complete: not those of arrays.
#[diagnostic::on_unimplemented(
    message = "a traced `match` needs a final `_` arm",
    label = "this `{Self}` differs by lane, and no arm takes what the others leave",
    note = "on a traced value `match` compares lane by lane: end it by `_ => …`"
)]
pub trait Exhausted {
    /// A reference to the value.
    type Value;
    /// What Rust matches.
    fn exhausted(self) -> Self::Value;
}

impl<'a, X: ?Sized> Exhausted for HostMatch<'a, X> {
    type Value = &'a X;
    #[inline(always)]
    fn exhausted(self) -> &'a X {
        self.0
    }
}

/// Values that patterns can be tested against while tracing: not arrays.
#[diagnostic::on_unimplemented(
    message = "`if let` and `while let` are decided while tracing; `{Self}` has no value yet",
    label = "this differs by lane",
    note = "compare with `==`, or use a `match` with a final `_` arm"
)]
pub trait KnownValue {
    /// A reference to the value.
    type Value;
    /// What Rust matches.
    fn known(self) -> Self::Value;
}

impl<'a, X: ?Sized> KnownValue for HostMatch<'a, X> {
    type Value = &'a X;
    #[inline(always)]
    fn known(self) -> &'a X {
        self.0
    }
}

/// Conditions beside a pattern.
#[diagnostic::on_unimplemented(
    message = "a pattern test is decided on the host; nest `if` for the traced part",
    label = "expected `bool`, found `{Self}`",
    note = "beside a pattern, in a chain with `let` or as the guard of an arm, a condition decides for all lanes at \
            once; a `match` that tests by guards alone is `if … else if …`"
)]
pub trait Decided {
    /// The condition's value.
    fn decided(self) -> bool;
}

#[diagnostic::do_not_recommend]
impl Decided for bool {
    #[inline(always)]
    fn decided(self) -> bool {
        self
    }
}

/// A host value that is matched.
pub struct HostMatch<'a, X: ?Sized>(&'a X);

impl<'a, X: ?Sized> HostMatch<'a, X> {
    /// Whether Rust matches it.
    #[inline(always)]
    pub fn is_host(&self) -> bool {
        true
    }
    /// Comes before a move that Rust makes.
    #[inline(always)]
    pub fn host_only(&self) {}
    /// In place of that move, for an array.
    pub fn again<Y>(&self, _: &Y) -> Y {
        unreachable!("host values are moved")
    }
    /// What Rust matches.
    #[inline(always)]
    pub fn host(&self) -> &'a X {
        self.0
    }
    /// Nothing: Rust has compared.
    #[inline(always)]
    pub fn equals<P>(&self, _: P) {}
    /// Nothing: Rust has compared.
    #[inline(always)]
    pub fn at_least<P>(&self, _: P) {}
    /// Nothing: Rust has compared.
    #[inline(always)]
    pub fn at_most<P>(&self, _: P) {}
    /// Nothing: Rust has compared.
    #[inline(always)]
    pub fn below<P>(&self, _: P) {}
    /// Nothing: Rust has compared.
    #[inline(always)]
    pub fn and(&self, (): (), (): ()) {}
    /// Nothing: Rust has compared.
    #[inline(always)]
    pub fn or(&self, (): (), (): ()) {}
    /// What Rust has found.
    #[inline(always)]
    pub fn test(&self, found: bool, (): ()) -> bool {
        found
    }
}

/// An array that is matched.
#[derive(Debug)]
pub struct TracedMatch<T: Element> {
    value: Array<T>,
    element: T,
}

impl<T: Element> TracedMatch<T> {
    /// Whether Rust matches it.
    pub fn is_host(&self) -> bool {
        false
    }
    /// Comes before a move that Rust would make.
    pub fn host_only(&self) -> Infallible {
        unreachable!("arrays stay where they are")
    }
    /// In place of that move: another handle of the array.
    #[inline(always)]
    pub fn again<Y: Operand>(&self, value: &Y) -> Y {
        value.again()
    }
    /// What Rust matches.
    pub fn host(&self) -> &T {
        &self.element
    }
    /// Lanes that are equal to a value.
    #[track_caller]
    pub fn equals(&self, value: T) -> Mask {
        self.value.eq(value)
    }
    /// Lanes that are not below a value.
    #[track_caller]
    pub fn at_least(&self, value: T) -> Mask {
        self.value.ge(value)
    }
    /// Lanes that are not above a value.
    #[track_caller]
    pub fn at_most(&self, value: T) -> Mask {
        self.value.le(value)
    }
    /// Lanes that are below a value.
    #[track_caller]
    pub fn below(&self, value: T) -> Mask {
        self.value.lt(value)
    }
    /// Lanes of both.
    #[track_caller]
    pub fn and(&self, left: Mask, right: Mask) -> Mask {
        left & right
    }
    /// Lanes of one of them.
    #[track_caller]
    pub fn or(&self, left: Mask, right: Mask) -> Mask {
        left | right
    }
    /// What the comparisons have found.
    pub fn test(&self, _: bool, found: Mask) -> Mask {
        found
    }
}
