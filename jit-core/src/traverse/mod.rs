//! Traversal of the arrays in a value.
//!
//! [`Traverse`] is implemented for arrays, for containers and tuples of types that implement it, and for host numbers,
//! which hold no arrays. User types derive it. A visitor sees the arrays in the order of the fields, which is the same
//! for equal shapes.
//!
//! | part | file |
//! |---|---|
//! | the trait | this file |
//! | visitors | `visitor` |
//! | replacing arrays without changing their types | `lent` |
//! | containers, host values | `containers`; tuples: `tuples` |
//! | the leaves of a value, which regions replace | `leaves` |
//! | building a value from a signature and arrays | `build`; for the standard library's types: `build_std` |

use crate::graph::Var;

mod build;
mod build_std;
mod containers;
pub(crate) mod leaves;
mod lent;
pub(crate) mod tuples;
mod visitor;

pub(crate) use lent::{check_number, replace, zero_like};

pub use build::{Build, BuildConstant, LeafReader, Signature, SignatureLeaf};
pub use build_std::MapKey;
pub use visitor::{Constant, HostValue, Leaf, Visitor, VisitorMut};

/// A value that may hold arrays.
///
/// Derive it for your own types: `#[derive(Traverse)]`, which describes its options. Every leaf of a value is then
/// either an array, which can be evaluated, carried through traced loops and replaced; or a host value, such as a
/// number, a length or the variant of an `enum`, which is the same for all lanes.
///
/// # Writing it by hand
///
/// Both functions must visit the same arrays in the same order each time. Wherever arrays are replaced, their number
/// and element types are checked: an incorrect implementation panics, and never yields an array of a wrong type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not implement `Traverse`",
    label = "this is not an array and does not consist of arrays",
    note = "derive it for your own type, with `#[derive(Traverse)]`; `#[traverse(skip)]` excludes a field that has no \
        arrays"
)]
pub trait Traverse {
    /// Passes every array to a visitor, in the order of the fields.
    fn traverse(&self, visitor: &mut Visitor<'_>);

    /// Lends every array to a visitor, in the same order. Arrays behind `&`, `Rc` and `Arc` have other owners and are
    /// not lent.
    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>);
}

/// Returns the arrays of a value, in order.
pub(crate) fn arrays(tree: &(impl Traverse + ?Sized)) -> Vec<Var> {
    let mut vars = Vec::new();
    for_each_array(tree, |var| vars.push(var.clone()));
    vars
}

/// Calls a function with each array of a value, in order.
pub(crate) fn for_each_array(tree: &(impl Traverse + ?Sized), mut visit: impl FnMut(&Var)) {
    tree.traverse(&mut Visitor::new(&mut |_, leaf| {
        if let Leaf::Array(var) | Leaf::Shared(var) = leaf {
            visit(var);
        }
    }));
}

/// Returns the arrays of a value that [`Traverse::traverse_mut`] lends, in order.
pub(crate) fn owned_arrays(tree: &(impl Traverse + ?Sized)) -> Vec<Var> {
    let mut vars = Vec::new();
    tree.traverse(&mut Visitor::new(&mut |_, leaf| {
        if let Leaf::Array(var) = leaf {
            vars.push(var.clone());
        }
    }));
    vars
}
