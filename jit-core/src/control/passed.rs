//! The arguments of a function that is traced: where in them are arrays, and of which element types.
//!
//! They are only looked at when their Rust types are others than in the trace before: that takes a few instructions,
//! and looking at them takes long.

use std::any::type_name;

use jit_runtime::ir::Type;

use crate::traverse::{Leaf, Traverse, Visitor};

/// An argument. Method lookup finds [`WithoutArrays`] for types that are not [`Traverse`].
#[doc(hidden)]
pub struct Passed<'a, T: ?Sized>(pub &'a T);

/// The places of arrays in arguments, and their element types.
#[doc(hidden)]
#[derive(Default)]
pub struct ArrayPlaces(pub(crate) Vec<(String, Type)>);

#[doc(hidden)]
pub trait WithArrays {
    /// Returns a number that differs for arguments of different types.
    fn kind(&self) -> u64;

    /// Lists its arrays.
    fn list(&self, name: &'static str, found: &mut ArrayPlaces);
}

impl<T: Traverse + ?Sized> WithArrays for Passed<'_, T> {
    #[inline]
    fn kind(&self) -> u64 {
        let name = type_name::<T>();
        // Names may be stored in each other: the length distinguishes those that begin at one place.
        (name.as_ptr().addr() as u64).rotate_left(32) ^ name.len() as u64
    }

    fn list(&self, name: &'static str, found: &mut ArrayPlaces) {
        let mut note = |path: &str, leaf: Leaf<'_>| {
            if let Leaf::Array(var) | Leaf::Shared(var) = leaf {
                found.0.push((path.to_owned(), var.ty()));
            }
        };
        Visitor::with_paths(&mut note).field(name, self.0);
    }
}

#[doc(hidden)]
pub trait WithoutArrays {
    /// Returns zero.
    fn kind(&self) -> u64;

    /// Lists nothing.
    fn list(&self, name: &'static str, found: &mut ArrayPlaces);
}

impl<T: ?Sized> WithoutArrays for &Passed<'_, T> {
    #[inline]
    fn kind(&self) -> u64 {
        0
    }

    #[inline]
    fn list(&self, _: &'static str, _: &mut ArrayPlaces) {}
}
