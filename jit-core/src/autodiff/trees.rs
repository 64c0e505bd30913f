//! Variables in whole values: what `Array` has for one array, for all arrays of a value.

use jit_runtime::Site;

use super::form::with_arrays;
use super::report::is_variable;
use super::variable::{clear_stored, enable, gradient_of, warn_of_computed};
use super::vertex::carries;
use crate::graph::Var;
use crate::graph::gradients::Scope;
use crate::misuse;
use crate::trace::record;
use crate::traverse::{Traverse, VisitorMut, arrays, owned_arrays};

/// Makes variables of all float arrays of a value; see [`Array::enable_grad`](crate::Array::enable_grad). Arrays behind
/// `Rc` and `Arc` have other owners, and are left as they are.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
/// use jit::ad;
///
/// let mut line = (Float::from(2.0), Float::from(1.0));
/// ad::enable_grad(&mut line);
/// let x = Float::from([1.0, 2.0]);
/// (&line.0 * &x + &line.1).sum().backward()?;
/// let (slope, offset) = ad::grad_of(&line);
/// assert_eq!((slope.item()?, offset.item()?), (3.0, 2.0));
/// # Ok::<(), jit_runtime::Error>(())
/// ```
#[track_caller]
pub fn enable_grad(tree: &mut (impl Traverse + ?Sized)) {
    let site = Site::here();
    tree.traverse_mut(&mut VisitorMut::new(&mut |_, var| {
        warn_of_computed(var, site);
        enable(var, site);
    }));
}

/// Makes constants of all arrays of a value; see [`Array::disable_grad`](crate::Array::disable_grad).
#[track_caller]
pub fn disable_grad(tree: &mut (impl Traverse + ?Sized)) {
    let _line = misuse::enter();
    tree.traverse_mut(&mut VisitorMut::new(&mut |_, var| *var = record::detached(var)));
}

/// Returns a value with the same elements, through which no gradients flow; see
/// [`Array::detach`](crate::Array::detach).
#[must_use]
#[track_caller]
pub fn detach<X: Traverse + Clone>(tree: &X) -> X {
    let mut copy = tree.clone();
    disable_grad(&mut copy);
    copy
}

/// Returns the gradients that are stored for a value, as a value of the same form; see
/// [`Array::grad`](crate::Array::grad). Where there is none, they are zeros; so are those of integers and masks.
///
/// # Panics
///
/// As [`Array::grad`](crate::Array::grad).
#[must_use]
#[track_caller]
pub fn grad_of<X: Traverse + Clone>(tree: &X) -> X {
    let _line = misuse::enter();
    let gradient = |var: &Var| gradient_of(var).unwrap_or_else(|error| misuse::panic_with(error));
    let gradients: Vec<Var> = owned_arrays(tree).iter().map(gradient).collect();
    let mut copy = tree.clone();
    with_arrays(&mut copy, gradients);
    copy
}

/// Removes the gradients that are stored for a value; see [`Array::clear_grad`](crate::Array::clear_grad).
pub fn clear_grad(tree: &(impl Traverse + ?Sized)) {
    arrays(tree).iter().filter(|var| carries(var)).for_each(clear_stored);
}

/// The positions of the variables among the arrays of a value.
#[doc(hidden)]
pub struct Variables(Vec<bool>);

impl Variables {
    /// Finds the variables of a value.
    #[must_use]
    pub fn of(tree: &(impl Traverse + ?Sized)) -> Variables {
        Variables(owned_arrays(tree).iter().map(is_variable).collect())
    }

    /// Returns whether there are any.
    #[must_use]
    pub fn any(&self) -> bool {
        self.0.contains(&true)
    }

    /// Makes variables of the arrays in these positions of a value.
    #[track_caller]
    pub fn enable(&self, tree: &mut (impl Traverse + ?Sized)) {
        if !self.any() {
            return;
        }
        let (site, mut is_variable) = (Site::here(), self.0.iter());
        let _resumed = Scope::begin(false);
        tree.traverse_mut(&mut VisitorMut::new(&mut |_, var| {
            if is_variable.next() == Some(&true) {
                enable(var, site);
            }
        }));
    }
}
