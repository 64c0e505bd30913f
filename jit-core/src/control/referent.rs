//! What a variable of unknown type refers to, if it is a `&mut` reference.
//!
//! A macro sees no types: in `let p = first(walkers); if m { p.step(); }` it does not know whether `p.step()` changes
//! something outside of the region. So it asks for the referent of `p` by a method whose name two traits have. Method
//! lookup finds [`Referent`] for `&mut` references to arrays and to what consists of them, lent again; and
//! [`NoReferent`] for all other types, which a call on a variable that is not `mut` cannot change.

use crate::traverse::Traverse;

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
    /// Returns state without arrays.
    #[inline(always)]
    fn __jit_referent(&self) -> &'static mut [f32; 0] {
        &mut []
    }
}

impl<T: ?Sized> NoReferent for T {}
