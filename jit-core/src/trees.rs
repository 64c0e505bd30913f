//! Operations on all arrays of a value at once, leaf by leaf: a struct of arrays moves as one.
//!
//! What leaves share (widths, masks, indices) is checked for each leaf, as for single arrays.

use std::panic::Location;

use crate::array::{Array, Integer, Mask};
use crate::trace::misuse::Misuse;
use crate::trace::{Var, gather as lanes, record};
use crate::traverse::{Traverse, VisitorMut, arrays};

/// The elements of every array at some positions, as [`Array::gather`]. The result has the shape of the value.
#[must_use]
#[track_caller]
pub fn gather<X: Traverse + Clone, I: Integer>(tree: &X, index: &Array<I>) -> X {
    gather_leaves(tree, index.var(), None)
}

/// As [`gather`] where the mask is true; zero, reading nothing, where it is false.
#[must_use]
#[track_caller]
pub fn gather_masked<X: Traverse + Clone, I: Integer>(tree: &X, index: &Array<I>, mask: &Mask) -> X {
    gather_leaves(tree, index.var(), Some(mask.var()))
}

/// The arrays of the one value where the mask is true, those of the other where it is false.
///
/// # Panics
///
/// When the values do not hold equally many arrays of equal types.
#[must_use]
#[track_caller]
pub fn select<X: Traverse + Clone>(mask: &Mask, if_true: &X, if_false: &X) -> X {
    let (a, b) = (arrays(if_true), arrays(if_false));
    let is_alike = a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.ty() == b.ty());
    if !is_alike {
        Misuse::new("two values of different shape cannot be selected from", Location::caller())
            .hint("both must hold equally many arrays, of the same element types, in the same order")
            .panic();
    }
    let mut chosen = Vec::with_capacity(a.len());
    for (a, b) in a.iter().zip(&b) {
        chosen.push(record::select(mask.var(), a, b));
    }
    with_arrays(if_true, chosen)
}

#[track_caller]
fn gather_leaves<X: Traverse + Clone>(tree: &X, index: &Var, mask: Option<&Var>) -> X {
    let mut vars = arrays(tree);
    // A loop and no closure: the user's line is that of our caller.
    for var in &mut vars {
        *var = lanes::gather(var, index, mask);
    }
    with_arrays(tree, vars)
}

/// A copy of a value with other arrays, as many as it holds.
fn with_arrays<X: Traverse + Clone>(tree: &X, vars: Vec<Var>) -> X {
    let mut result = tree.clone();
    let mut vars = vars.into_iter();
    result.traverse_mut(&mut VisitorMut::new(&mut |_, var| {
        if let Some(new) = vars.next() {
            *var = new;
        }
    }));
    result
}
