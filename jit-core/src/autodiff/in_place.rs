//! Derivatives of functions that change their argument, as the forward pass of a module with running statistics does.

use jit_runtime::{Error, Site};

use super::form::with_arrays;
use super::functional::{Called, recorded};
use super::loss::Loss;
use super::traversal::nothing_flows;
use crate::graph::Var;
use crate::misuse;
use crate::trace::record;
use crate::traverse::{Traverse, VisitorMut, owned_arrays};

const NO_PARAMETER: &str = "no parameter that is trained has an influence on the loss";

/// Like [`value_and_grad`](super::value_and_grad), for a function that may change its argument, by some of the arrays
/// that this lends. What the function has replaced stays so, without gradients unless a derivative around it uses them;
/// the other arrays are those from before.
///
/// # Errors
///
/// As [`value_and_grad`](super::value_and_grad), and when the result depends on none of these arrays.
#[doc(hidden)]
#[track_caller]
pub fn value_and_grad_in_place<X, L>(
    x: &mut X,
    is_argument: &[bool],
    function: impl FnOnce(&mut X) -> L,
) -> Result<(L, X), Error>
where
    X: Traverse + Clone,
    L: Loss,
{
    let _line = misuse::enter();
    let mut called = Called::begin();
    let mut changed = Changed::begin(x, is_argument, &called);
    let mut result = recorded(|| function(changed.value));
    let arguments = changed.arguments().cloned().collect();
    let mut gradients = called.gradients_of(&mut result, arguments)?.into_iter();
    if !called.has_flow() {
        nothing_flows(NO_PARAMETER)?;
    }
    changed.is_nested = called.is_nested();
    drop(changed);
    let mut gradient = x.clone();
    let zeros = owned_arrays(x).into_iter().map(|var| record::literal(var.ty(), 0, var.width()));
    let each = zeros.zip(is_argument).map(|(zero, is_argument)| match is_argument {
        true => gradients.next().unwrap_or(zero),
        false => zero,
    });
    with_arrays(&mut gradient, each.collect::<Vec<_>>());
    Ok((result, gradient))
}

/// A value with arguments of a function for some of its arrays. When this is dropped, after an error or a panic too,
/// they are the arrays from before again.
struct Changed<'x, X: Traverse> {
    value: &'x mut X,
    /// Each array from before, and the argument in its place.
    arrays: Vec<(Var, Option<Var>)>,
    /// Whether gradients flow on through what the function has replaced.
    is_nested: bool,
}

impl<'x, X: Traverse> Changed<'x, X> {
    #[track_caller]
    fn begin(value: &'x mut X, is_argument: &[bool], called: &Called) -> Self {
        let (mut arrays, mut is_argument) = (Vec::new(), is_argument.iter());
        let _line = Site::here().enter(None);
        value.traverse_mut(&mut VisitorMut::new(&mut |_, var| {
            let is_argument = is_argument.next() == Some(&true) && var.ty().is_float();
            let argument = is_argument.then(|| called.argument(var, false));
            arrays.push((var.clone(), argument.clone()));
            *var = argument.unwrap_or_else(|| var.clone());
        }));
        Changed { value, arrays, is_nested: false }
    }

    fn arguments(&self) -> impl Iterator<Item = &Var> {
        self.arrays.iter().filter_map(|(_, argument)| argument.as_ref())
    }
}

impl<X: Traverse> Drop for Changed<'_, X> {
    fn drop(&mut self) {
        let Changed { value, arrays, is_nested } = self;
        value.traverse_mut(&mut VisitorMut::new(&mut |_, var| {
            let is_it = |(before, argument): &&(Var, Option<Var>)| {
                before.is_same(var) || argument.as_ref().is_some_and(|argument| argument.is_same(var))
            };
            match arrays.iter().find(is_it) {
                Some((before, _)) => *var = before.clone(),
                None if *is_nested => {}
                None => *var = record::detached(var),
            }
        }));
    }
}
