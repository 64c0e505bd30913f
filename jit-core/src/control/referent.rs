//! What a variable of unknown type refers to, if it is a `&mut` reference.
//!
//! A macro sees no types: in `let p = first(walkers); if m { p.step(); }` it does not know whether `p.step()` changes
//! something outside of the region. So it asks before the region whether `p` is a `&mut` reference to arrays or to what
//! consists of them. The answer is a type: with [`Refers`] the referent is state; with [`RefersNot`] the compiler sees
//! that no code follows which mentions `p`, so a region may move other values.

use super::index::Probe;
use crate::traverse::Traverse;
use std::convert::Infallible;

/// Says that a variable is a `&mut` reference to state.
#[derive(Clone, Copy, Debug)]
pub struct Refers;

/// Says that a variable is something else.
#[derive(Clone, Copy, Debug)]
pub struct RefersNot;

impl Refers {
    /// Returns `true`.
    #[inline(always)]
    pub fn refers(self) -> bool {
        true
    }

    /// Precedes code for references only.
    #[inline(always)]
    pub fn only(self) {}
}

impl RefersNot {
    /// Returns `false`.
    #[inline(always)]
    pub fn refers(self) -> bool {
        false
    }

    /// Precedes code for references only.
    pub fn only(self) -> Infallible {
        unreachable!("code for references only")
    }
}

/// A `&mut` reference to state.
pub trait Referent<'a> {
    /// The type of what it refers to.
    type Target: Traverse + ?Sized;
    /// Returns what it refers to.
    fn __jit_referent(self) -> &'a mut Self::Target;
}

impl<'a, T: Traverse + ?Sized> Referent<'a> for &'a mut T {
    type Target = T;
    #[inline(always)]
    fn __jit_referent(self) -> &'a mut T {
        self
    }
}

/// Any other value.
pub trait NoReferent {
    /// Only has a type.
    fn __jit_referent(&self) -> &'static mut [f32; 0] {
        &mut []
    }
}

impl<T: ?Sized> NoReferent for T {}

/// Method lookup finds this trait for `&mut` references to state.
pub trait AsksReferent<'a> {
    /// The type of what it refers to.
    type Target: Traverse + ?Sized;
    /// Returns the answer.
    fn __jit_refers(self) -> Refers;
    /// Returns what it refers to.
    fn __jit_referred(self) -> &'a Self::Target;
}

impl<'a, T: Traverse + ?Sized> AsksReferent<'a> for Probe<'a, &mut T> {
    type Target = T;
    #[inline(always)]
    fn __jit_refers(self) -> Refers {
        Refers
    }

    #[inline(always)]
    fn __jit_referred(self) -> &'a T {
        self.0
    }
}

/// Method lookup finds this trait for all other types.
pub trait AsksNoReferent {
    /// Returns the answer.
    fn __jit_refers(self) -> RefersNot;
    /// Only has a type.
    fn __jit_referred(self) -> &'static [f32; 0];
}

impl<T: ?Sized> AsksNoReferent for &Probe<'_, T> {
    #[inline(always)]
    fn __jit_refers(self) -> RefersNot {
        RefersNot
    }

    fn __jit_referred(self) -> &'static [f32; 0] {
        &[]
    }
}
