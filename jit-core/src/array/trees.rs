//! Operations on all arrays of a value, leaf by leaf: a struct of arrays is processed like one array.
//!
//! The arguments that leaves share (widths, masks, indices) are checked for each leaf, as for single arrays. A leaf of
//! width 1 next to a wider one is shared by all elements of the value: it is gathered from as if it were repeated. If
//! all leaves have width 1, the value has one element.

use jit_runtime::Site;
use jit_runtime::ir::{ReduceOp, Type};

use super::compress::as_wide;
use super::{Array, Element, FloatElement, Integer, Mask};
use crate::graph::Var;
use crate::graph::payload::How;
use crate::misuse::{self, Misuse};
use crate::schedule;
use crate::size::Size;
use crate::trace::scatter::{self, Request};
use crate::trace::{gather as lanes, local, record};
use crate::traverse::leaves::Leaves;
use crate::traverse::{self, Leaf, Traverse, Visitor, arrays, owned_arrays};

/// Gathers the elements of every array at some positions, like [`Array::gather`]. The result has the shape of the
/// value.
///
/// An array of width 1 next to a wider one belongs to all elements of the value, so it counts as repeated. If all have
/// width 1, there is one element, at position 0.
#[must_use]
#[track_caller]
pub fn gather<X: Traverse + Clone, I: Integer>(tree: &X, index: &Array<I>) -> X {
    gather_leaves(tree, None, index.var(), None)
}

/// Like [`gather`] where the mask is true; zero, without reading, where it is false.
#[must_use]
#[track_caller]
pub fn gather_masked<X: Traverse + Clone, I: Integer>(tree: &X, index: &Array<I>, mask: &Mask) -> X {
    gather_leaves(tree, None, index.var(), Some(mask.var()))
}

/// Returns the elements of every array in the lanes where a mask is true, like [`Array::filter`]. The mask is evaluated
/// and counted once; the elements stay lazy. Arrays of width 1 are repeated, so that all results have one width.
///
/// # Panics
///
/// As [`Array::filter`].
#[must_use]
#[track_caller]
pub fn filter<X: Traverse + Clone>(tree: &X, mask: &Mask) -> X {
    let mut mask = mask.clone();
    for leaf in owned_arrays(tree) {
        mask = as_wide(&mask, &leaf);
    }
    gather_leaves(tree, Some(mask.width()), mask.compress().var(), None)
}

/// Returns the elements of every array in the ascending order of keys, like [`Array::sort_by_key`]; one sort serves all
/// arrays. Stays lazy.
///
/// # Panics
///
/// As [`Array::sort_by_key`].
#[must_use]
#[track_caller]
pub fn sort_by_key<X: Traverse + Clone, K: Element>(tree: &X, keys: &Array<K>) -> X {
    for leaf in owned_arrays(tree) {
        if leaf.width() != keys.width() && leaf.width() != 1 {
            record::width_mismatch(&leaf, keys.var());
        }
    }
    gather_leaves(tree, Some(keys.width()), keys.argsort().var(), None)
}

/// Writes every array of a value to the corresponding array of the target, like [`Array::scatter`].
///
/// # Panics
///
/// As [`Array::scatter`], and when the values do not hold the same number of arrays of the same types.
#[track_caller]
pub fn scatter<X: Traverse + Clone, I: Integer>(target: &mut X, value: &X, index: &Array<I>) {
    scatter_leaves(target, value, How::Write, index.var(), None);
}

/// Like [`scatter`] on the lanes where the mask is true; the others may have any index.
///
/// # Panics
///
/// As [`scatter`].
#[track_caller]
pub fn scatter_masked<X: Traverse + Clone, I: Integer>(target: &mut X, value: &X, index: &Array<I>, mask: &Mask) {
    scatter_leaves(target, value, How::Write, index.var(), Some(mask.var()));
}

/// Combines every array of a value with the elements of the corresponding array of the target, like
/// [`Array::scatter_reduce`]: forces on particles, for example.
///
/// # Panics
///
/// As [`scatter`].
#[track_caller]
pub fn scatter_reduce<X: Traverse + Clone, I: Integer>(target: &mut X, op: ReduceOp, value: &X, index: &Array<I>) {
    scatter_leaves(target, value, How::Reduce(op), index.var(), None);
}

/// Like [`scatter_reduce`] on the lanes where the mask is true; the others may have any index.
///
/// # Panics
///
/// As [`scatter`].
#[track_caller]
pub fn scatter_reduce_masked<X: Traverse + Clone, I: Integer>(
    target: &mut X,
    op: ReduceOp,
    value: &X,
    index: &Array<I>,
    mask: &Mask,
) {
    scatter_leaves(target, value, How::Reduce(op), index.var(), Some(mask.var()));
}

/// Selects the arrays of the first value where the mask is true, those of the second where it is false.
///
/// # Panics
///
/// When the values do not hold the same number of arrays of the same types, or differ in leaves that a mask cannot
/// choose between: host values, and arrays that they only borrow or share (behind `&`, `Rc` and `Arc`).
#[must_use]
#[track_caller]
pub fn select<X: Traverse + Clone>(mask: &Mask, if_true: &X, if_false: &X) -> X {
    let (a, b) = (owned_arrays(if_true), owned_arrays(if_false));
    check_same_leaves(&a, &b);
    check_kept(if_true, if_false);
    let mut chosen = Vec::with_capacity(a.len());
    for (a, b) in a.iter().zip(&b) {
        chosen.push(match local::is_local(a) {
            true => local::select(Site::here(), mask.var(), a, b),
            false => record::select(mask.var(), a, b),
        });
    }
    with_arrays(if_true, chosen)
}

/// Returns the value with arrays that never become literals in code, like [`Array::make_opaque`]. All of them are
/// evaluated together.
///
/// # Panics
///
/// When the evaluation fails: see [`Array::to_vec`].
#[must_use]
#[track_caller]
pub fn make_opaque<X: Traverse + Clone>(tree: &X) -> X {
    let mut vars = owned_arrays(tree);
    let wanted: Vec<&Var> = vars.iter().collect();
    if let Err(error) = schedule::evaluate(&wanted, "`make_opaque` stores it in memory", Site::here()) {
        misuse::panic_with(error);
    }
    for var in &mut vars {
        if let Some(bits) = var.literal() {
            *var = record::opaque(var.ty(), bits, var.width());
        }
    }
    with_arrays(tree, vars)
}

/// Panics if values differ in a leaf that a mask cannot choose between.
#[track_caller]
fn check_kept<X: Traverse>(a: &X, b: &X) {
    let (a, b) = (Leaves::of(a), Leaves::of(b));
    if let Some((left, right)) = a.first_difference(&b) {
        Misuse::new(
            format!("a mask cannot select between values that differ on the host: {left} and {right}"),
            Site::here(),
        )
        .hint(&format!(
            "a value that differs by lane must be an owned array: {}, and `a.clone()` for `&a`",
            a.advice(&b)
        ))
        .panic();
    }
}

/// Panics if values do not hold the same arrays.
#[track_caller]
fn check_same_leaves(a: &[Var], b: &[Var]) {
    if a.len() != b.len() || a.iter().zip(b).any(|(a, b)| a.ty() != b.ty() || local::is_local(a) != local::is_local(b))
    {
        Misuse::new("two values have different structures", Site::here())
            .hint("both must have the same number of arrays, of the same element types, in the same order")
            .panic();
    }
}

/// Panics for per-lane local memory, whose elements no other lane can read.
#[track_caller]
fn refuse_local(var: &Var) {
    if local::is_local(var) {
        Misuse::new("a `Local` belongs to its lane: other lanes cannot read or write it", Site::here())
            .value("the memory", var)
            .hint("gather and scatter the values that it was made from, or read elements of it first")
            .panic();
    }
}

#[track_caller]
fn scatter_leaves<X: Traverse + Clone>(target: &mut X, value: &X, how: How, index: &Var, mask: Option<&Var>) {
    let (mut targets, values) = (owned_arrays(target), owned_arrays(value));
    check_same_leaves(&targets, &values);
    targets.iter().for_each(refuse_local);
    for (target, value) in targets.iter_mut().zip(&values) {
        scatter::scatter(target, &Request { how, index, value, expected: None, mask });
    }
    put_arrays(target, targets);
}

/// Gathers from each array. Arrays of width 1 are gathered from as if they were as wide as the others, or as the number
/// of elements.
#[track_caller]
fn gather_leaves<X: Traverse + Clone>(tree: &X, elements: Option<Size>, index: &Var, mask: Option<&Var>) -> X {
    let mut vars = owned_arrays(tree);
    let elements = elements.or_else(|| vars.iter().map(Var::width).find(|&width| width != 1));
    // A loop instead of a closure, so that the reported line is that of our caller.
    for var in &mut vars {
        refuse_local(var);
        *var = match elements {
            Some(elements) => lanes::gather_repeated(var, elements, index, mask),
            None => lanes::gather(var, index, mask),
        };
    }
    with_arrays(tree, vars)
}

/// Returns a copy of a value with other arrays, as many as it holds. Panics if a value holds none but borrows some, as
/// the call would have no effect.
#[track_caller]
fn with_arrays<X: Traverse + Clone>(tree: &X, vars: Vec<Var>) -> X {
    if vars.is_empty() && !arrays(tree).is_empty() {
        Misuse::new("the value only borrows its arrays, so they cannot be replaced", Site::here())
            .hint(
                "pass a value that owns them: `(a.clone(), b.clone())` for `(&a, &b)`; a clone of an array copies no \
                 elements",
            )
            .panic();
    }
    let mut result = tree.clone();
    put_arrays(&mut result, vars);
    result
}

/// Replaces the arrays of a value by others, as many as it holds.
#[track_caller]
fn put_arrays(tree: &mut impl Traverse, vars: Vec<Var>) {
    traverse::replace(tree, vars.into_iter());
}

/// A function of arrays of any float type, for [`map_floats`].
#[doc(hidden)]
pub trait FloatRule {
    /// Returns the results for one array of each value; `position` is that of the array among all of its value.
    fn apply<T: FloatElement>(&mut self, position: usize, arrays: Vec<Array<T>>) -> Vec<Array<T>>;
}

/// Applies a function to the float arrays of values of one form, one of each at a time; returns as many values of that
/// form as wanted, with the results. Other arrays are those of the first value.
///
/// # Panics
///
/// When the arrays of the values differ in number or type.
#[doc(hidden)]
#[must_use]
#[track_caller]
pub fn map_floats<X: Traverse + Clone>(rule: &mut impl FloatRule, trees: &[&X], wanted: usize) -> Vec<X> {
    let leaves: Vec<Vec<Var>> = trees.iter().map(|tree| owned_arrays(*tree)).collect();
    leaves.iter().for_each(|other| check_same_leaves(&leaves[0], other));
    let mut results = vec![Vec::new(); wanted];
    for (position, first) in leaves[0].iter().enumerate() {
        let vars = leaves.iter().map(|leaves| leaves[position].clone());
        let found = match first.ty() {
            Type::F16 => applied::<half::f16>(rule, position, vars),
            Type::BF16 => applied::<half::bf16>(rule, position, vars),
            Type::F32 => applied::<f32>(rule, position, vars),
            Type::F64 => applied::<f64>(rule, position, vars),
            _ => vec![first.clone(); wanted],
        };
        results.iter_mut().zip(found).for_each(|(result, var)| result.push(var));
    }
    let mut all = Vec::with_capacity(wanted);
    for vars in results {
        all.push(with_arrays(trees[0], vars));
    }
    all
}

#[track_caller]
fn applied<T: FloatElement>(rule: &mut impl FloatRule, position: usize, vars: impl Iterator<Item = Var>) -> Vec<Var> {
    let found = rule.apply::<T>(position, vars.map(Array::from_var).collect());
    found.into_iter().map(Array::into_var).collect()
}

/// Returns the arrays of a value that can be replaced, each with its path.
#[doc(hidden)]
pub fn owned_with_paths(tree: &impl Traverse) -> Vec<(String, Var)> {
    let mut found = Vec::new();
    tree.traverse(&mut Visitor::with_paths(&mut |path, leaf| {
        if let Leaf::Array(var) = leaf {
            found.push((path.to_owned(), var.clone()));
        }
    }));
    found
}
