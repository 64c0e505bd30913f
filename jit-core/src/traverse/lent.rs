//! Arrays that are lent to a visitor, and the replacement of all arrays of a value.
//!
//! Safe code can implement `Traverse`, so its results are never trusted. An array that was lent must come back with its
//! element type, or the program panics. Arrays that are replaced must have the number and types that were visited
//! before. All writes to the arrays of a value go through this module.

use std::any::type_name;

use jit_runtime::Site;
use jit_runtime::ir::Type;

use super::{Traverse, VisitorMut};
use crate::graph::Var;
use crate::misuse::Misuse;
use crate::trace::{local, record};

/// The properties of a leaf that never change: its element type, and whether it is per-lane local memory.
#[derive(Clone, Copy, PartialEq)]
struct Kind {
    ty: Type,
    is_local: bool,
}

impl Kind {
    #[inline]
    fn of(var: &Var) -> Kind {
        Kind { ty: var.ty(), is_local: local::is_local(var) }
    }

    fn name(self) -> String {
        if self.is_local { format!("a `Local` of {}", self.ty) } else { format!("an array of {}", self.ty) }
    }

    /// Returns zero of this kind.
    fn zero(self) -> Var {
        let zero = record::literal(self.ty, 0, 1);
        if self.is_local { local::fresh(1, &zero) } else { zero }
    }
}

/// An array while a visitor has it. Its kind never changes, even if the visitor panics.
pub(super) struct Lent<'a> {
    var: &'a mut Var,
    kind: Kind,
}

impl<'a> Lent<'a> {
    #[inline]
    pub(super) fn new(var: &'a mut Var) -> Self {
        let kind = Kind::of(var);
        Lent { var, kind }
    }

    #[inline]
    pub(super) fn var(&mut self) -> &mut Var {
        self.var
    }

    /// Rejects an array of another kind.
    #[inline]
    pub(super) fn check(self, path: &str) {
        match Kind::of(self.var) == self.kind {
            // The drop would compare once more.
            true => std::mem::forget(self),
            false => self.refuse(path),
        }
    }

    #[cold]
    fn refuse(self, path: &str) -> ! {
        let (new, was) = (Kind::of(self.var).name(), self.kind.name());
        let place = if path.is_empty() { String::new() } else { format!(" `{path}`") };
        Misuse::new(format!("a visitor replaces {was}{place} by {new}"), self.var.site())
            .value("the new one", self.var)
            .hint("an array can only be replaced by one of its element type: convert it with `.cast::<T>()`")
            .hint(SAME_ARRAYS)
            .panic()
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if Kind::of(self.var) != self.kind {
            *self.var = self.kind.zero();
        }
    }
}

const SAME_ARRAYS: &str = "`traverse` and `traverse_mut` must visit the same arrays, in the same order, each time; \
                           `#[derive(Traverse)]` does";

/// Returns zero of the kind of an array.
pub(crate) fn zero_like(var: &Var) -> Var {
    Kind::of(var).zero()
}

/// Replaces the arrays of a value that [`Traverse::traverse_mut`] lends. The new arrays must have the same number and
/// kinds.
#[track_caller]
pub(crate) fn replace<X: Traverse + ?Sized>(tree: &mut X, mut arrays: impl ExactSizeIterator<Item = Var>) {
    let (shown, mut lent, mut wrong) = (arrays.len(), 0, None);
    tree.traverse_mut(&mut VisitorMut::new(&mut |_, var| {
        match arrays.next() {
            Some(array) if Kind::of(&array) == Kind::of(var) => *var = array,
            Some(array) => _ = wrong.get_or_insert((lent, array)),
            None => {}
        }
        lent += 1;
    }));
    if let Some((position, array)) = wrong {
        refuse_kind(tree, position, &array, Site::here());
    }
    check_number(type_name::<X>(), shown, lent, Site::here());
}

/// Rejects a value that does not lend some of the arrays it has shown.
#[inline]
pub(crate) fn check_number(name: &str, shown: usize, lent: usize, site: Site) {
    if shown != lent {
        refuse_number(name, shown, lent, site);
    }
}

#[cold]
fn refuse_number(name: &str, shown: usize, lent: usize, site: Site) -> ! {
    Misuse::new(format!("`{name}` visits {shown} arrays in `traverse`, and {lent} in `traverse_mut`"), site)
        .hint(SAME_ARRAYS)
        .panic()
}

#[cold]
fn refuse_kind<X: Traverse + ?Sized>(tree: &mut X, position: usize, array: &Var, site: Site) -> ! {
    let (mut leaves, mut found) = (0.., None);
    tree.traverse_mut(&mut VisitorMut::with_paths(&mut |path, var| {
        if leaves.next() == Some(position) {
            found = Some((path.to_owned(), var.clone()));
        }
    }));
    let (name, shown) = (type_name::<X>(), Kind::of(array).name());
    let (path, lent) = match &found {
        Some((path, var)) => (path.as_str(), Kind::of(var).name()),
        None => ("", "nothing".to_owned()),
    };
    let place = if path.is_empty() { format!("array {position}") } else { format!("array {position}, `{path}`,") };
    Misuse::new(format!("{place} of `{name}` is {shown} in `traverse`, and {lent} in `traverse_mut`"), site)
        .hint(SAME_ARRAYS)
        .panic()
}
