//! Scopes that gradients leave when they end.

use std::cell::{Cell, RefCell};

use jit_runtime::Error;

use super::traversal::{self, Keep};
use super::variable::{accumulate, take};
use crate::graph::Var;
use crate::graph::scopes::IsolatedScope;
use crate::thread_state::thread_state;

thread_state! {
    static POSTPONED: RefCell<Vec<Vec<(Var, Keep)>>> = RefCell::new(Vec::new());
    static ALLOWED: Cell<bool> = Cell::new(false);
}

/// Calls a function; gradients that flow backwards in it stop at values that were computed before, and flow on from
/// there when the function has returned. So parts of a program that each let gradients flow, such as the iterations of
/// a loop, traverse what they share once.
///
/// Until then the gradient of such a value can be read there. Scopes may nest: an inner one passes its gradients to the
/// outer one. Variables get their gradients at once, and tangents flow as always.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
///
/// let mut x = Float::from(3.0);
/// x.enable_grad();
/// let y = &x * &x;
/// jit::ad::isolate(|| {
///     for factor in [1.0, 10.0] {
///         (&y * factor).backward()?;
///     }
///     assert_eq!((y.grad().item()?, x.grad().item()?), (11.0, 0.0));
///     Ok::<_, jit_runtime::Error>(())
/// })??;
/// assert_eq!((y.grad().item()?, x.grad().item()?), (0.0, 66.0));
/// # Ok::<(), jit_runtime::Error>(())
/// ```
///
/// # Errors
///
/// When the gradients flow on through something that has no derivative. They are lost then. So are they when the
/// function panics.
#[track_caller]
pub fn isolate<R>(function: impl FnOnce() -> R) -> Result<R, Error> {
    let scope = Isolation::begin();
    let result = function();
    scope.end()?;
    Ok(result)
}

struct Isolation {
    scope: Option<IsolatedScope>,
}

impl Isolation {
    fn begin() -> Isolation {
        POSTPONED.with_borrow_mut(|scopes| scopes.push(Vec::new()));
        Isolation { scope: Some(IsolatedScope::begin()) }
    }

    /// Ends the scope, and returns what was postponed in it, without the gradients that were stored there.
    fn close(&mut self) -> Vec<(Var, Option<Var>, Keep)> {
        if self.scope.take().is_none() {
            return Vec::new();
        }
        let postponed = POSTPONED.with_borrow_mut(Vec::pop).unwrap_or_default();
        let with_gradient = |(var, keep): (Var, Keep)| {
            let gradient = take(&var);
            (var, gradient, keep)
        };
        postponed.into_iter().map(with_gradient).collect()
    }

    #[track_caller]
    fn end(mut self) -> Result<(), Error> {
        let postponed = self.close();
        let keep = if postponed.iter().any(|(.., keep)| *keep == Keep::Graph) { Keep::Graph } else { Keep::Nothing };
        let seeds = postponed.into_iter().filter_map(|(var, gradient, _)| Some((var, gradient?)));
        let seeds: Vec<(Var, Var)> = seeds.collect();
        if seeds.is_empty() { Ok(()) } else { traversal::flow_from(&seeds, keep) }
    }
}

impl Drop for Isolation {
    fn drop(&mut self) {
        self.close();
    }
}

/// Stores a gradient at a value from before the scope, to flow on when that ends.
#[track_caller]
pub(super) fn postpone(var: &Var, gradient: &Var, keep: Keep) {
    accumulate(var, gradient);
    POSTPONED.with_borrow_mut(|scopes| {
        if let Some(postponed) = scopes.last_mut()
            && !postponed.iter().any(|(other, other_keep)| other.is_same(var) && *other_keep == keep)
        {
            postponed.push((var.clone(), keep));
        }
    });
}

/// Calls a function; in it, a traversal that begins at values that depend on no variable does nothing, and gradients by
/// other values are zeros. Elsewhere that is an error, since most often a variable was forgotten.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
///
/// let y = Float::from(1.0) * 2.0;
/// assert!(y.backward().is_err());
/// jit::ad::allow_no_grad(|| y.backward())?;
/// # Ok::<(), jit_runtime::Error>(())
/// ```
pub fn allow_no_grad<R>(function: impl FnOnce() -> R) -> R {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            ALLOWED.with(|allowed| allowed.set(self.0));
        }
    }
    let _before = Before(ALLOWED.with(|allowed| allowed.replace(true)));
    function()
}

/// Returns whether a traversal may begin at values that depend on no variable.
pub(super) fn is_allowed() -> bool {
    ALLOWED.with(Cell::get)
}
