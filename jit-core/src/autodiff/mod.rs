//! Differentiation, in reverse and forward mode.
//!
//! The trace is the tape: the graph of a value says how it was computed, so programs record nothing else, and pay
//! nothing for operations that no variable is behind. Differentiation is graph → graph: gradients are values like
//! others, fuse with the rest of the program, and can be differentiated again.
//!
//! | part | file |
//! |---|---|
//! | variables: `enable_grad`, `grad`, `backward`, …; those of whole values | `variable`, `trees` |
//! | traversals from several values, several times; scopes that gradients leave at their end | `traversal`, `isolate` |
//! | derivatives of functions, to any order; what these return and capture | `functional`, `loss`, `earlier` |
//! | … of functions that change their argument | `in_place` |
//! | operations with a derivative of their own | `custom`, `passed`, `scaled`, `checkpoint`, `form` |
//! | the graph as gradients see it | `vertex` |
//! | reverse and forward mode | `reverse`, `forward` |
//! | how gradients pass an operation, by its lanes | `node`, `weight`, `special`, `transposed` |
//! | how they pass a scatter | `scattered`, `factors` |
//! | recorded loops, traversals in them, per-lane local memory | `loops`, `inside`, `memory` |
//! | fewer values for the gradients of evaluated ones | `simplify` |
//! | gradients that nobody can ask for any more | `collect` |
//! | drawings and listings | `draw`, `report` |
//!
//! Operations that are lowered to others have their derivatives where they are (`array/derivatives.rs`). What nodes
//! keep for differentiation is in `graph/tape.rs`.

mod checkpoint;
mod collect;
mod custom;
mod draw;
mod earlier;
mod factors;
mod form;
mod forward;
mod functional;
mod in_place;
mod inside;
mod isolate;
mod loops;
mod loss;
mod memory;
mod node;
mod passed;
mod recompute;
mod report;
mod reverse;
mod scaled;
mod scattered;
mod simplify;
mod special;
mod transposed;
mod traversal;
mod trees;
mod variable;
mod vertex;
mod weight;

use jit_runtime::Error;

pub use checkpoint::checkpoint;
pub use custom::{CustomOp, custom};
pub use draw::graphviz;
pub(crate) use form::with_arrays;
pub(crate) use functional::Called;
pub use functional::{grad, hvp, jvp, value_and_grad, vjp};
pub use in_place::value_and_grad_in_place;
pub use isolate::{allow_no_grad, isolate};
pub use loss::Loss;
pub use report::{Retained, retained, whos};
pub(crate) use report::{is_variable, names_of_gradients};
pub use simplify::{set_graph_simplification, simplify_graph};
pub use traversal::{Keep, Mode};
pub use trees::{Variables, clear_grad, detach, disable_grad, enable_grad, grad_of};
pub(crate) use variable::{clear_stored, set_stored, stored_at_variable, variable};

use crate::graph::Var;
use crate::graph::gradients::Scope;
use crate::graph::scopes::{ChosenScope, NamedScope};
use crate::traverse::{Leaf, Traverse, Visitor, arrays, owned_arrays};
use traversal::Seed;

/// Lets gradients flow from all arrays of a value, each of whose elements counts once, to the variables behind them;
/// see [`Array::backward`](crate::Array::backward).
///
/// # Errors
///
/// As [`Array::backward`](crate::Array::backward).
#[track_caller]
pub fn backward(tree: &(impl Traverse + ?Sized)) -> Result<(), Error> {
    traversal::backward(&arrays(tree), Seed::One, Keep::Nothing)
}

/// Like [`backward`], but gradients may flow through the same operations again.
///
/// # Errors
///
/// As [`backward`].
#[track_caller]
pub fn backward_keep(tree: &(impl Traverse + ?Sized)) -> Result<(), Error> {
    traversal::backward(&arrays(tree), Seed::One, Keep::Graph)
}

/// Like [`backward`], but arrays at which a gradient was stored, by [`Array::set_grad`](crate::Array::set_grad), begin
/// with it.
///
/// # Errors
///
/// As [`backward`].
#[track_caller]
pub fn backward_from(tree: &(impl Traverse + ?Sized)) -> Result<(), Error> {
    traversal::backward(&arrays(tree), Seed::Stored, Keep::Nothing)
}

/// Returns the gradients of the sum of all elements of a value by some arrays that it was computed from, variables or
/// values between. As in [`backward_from`], an array at which a gradient is stored begins with it: so does a result
/// whose tangent was read, which [`Array::clear_grad`](crate::Array::clear_grad) removes. Stores nothing, and gradients
/// may flow again. The gradients carry none themselves: derivatives of them are those of [`grad`].
///
/// # Errors
///
/// As [`backward`].
#[track_caller]
pub fn backward_to<X: Traverse + Clone>(tree: &(impl Traverse + ?Sized), to: &X) -> Result<X, Error> {
    let wanted = owned_arrays(to);
    let found = traversal::backward_to(&arrays(tree), Seed::Stored, &wanted)?;
    Ok(with_zeros(to, &wanted, found))
}

/// Lets a tangent of one flow from all arrays of a value; see [`Array::forward`](crate::Array::forward).
///
/// # Errors
///
/// As [`Array::forward`](crate::Array::forward).
#[track_caller]
pub fn forward(tree: &(impl Traverse + ?Sized)) -> Result<(), Error> {
    traversal::forward(&arrays(tree), Seed::One)
}

/// Like [`forward`], but arrays at which a gradient was stored begin with it.
///
/// # Errors
///
/// As [`forward`].
#[track_caller]
pub fn forward_from(tree: &(impl Traverse + ?Sized)) -> Result<(), Error> {
    traversal::forward(&arrays(tree), Seed::Stored)
}

/// Returns the tangents of a value, from the gradients that are stored at the variables behind it.
///
/// # Errors
///
/// When the value does not depend on a variable, or does through something that has no derivative.
#[track_caller]
pub fn forward_to<Y: Traverse + Clone>(tree: &Y) -> Result<Y, Error> {
    let wanted = owned_arrays(tree);
    let found = traversal::forward_to(&wanted)?;
    Ok(with_zeros(tree, &wanted, found))
}

/// Lets gradients that have arrived at some values flow on to the variables behind them.
#[track_caller]
pub(crate) fn flow_on(arrived: &[(Var, Var)]) -> Result<(), Error> {
    let flowing: Vec<(Var, Var)> = arrived.iter().filter(|(var, _)| vertex::carries(var)).cloned().collect();
    if flowing.is_empty() { Ok(()) } else { traversal::flow_from(&flowing, Keep::Nothing) }
}

/// Adds the arrays of a value to those that the next [`traverse`] on this thread begins with.
pub fn enqueue(mode: Mode, tree: &(impl Traverse + ?Sized)) {
    traversal::enqueue(mode, arrays(tree));
}

/// Traverses from the arrays that were enqueued on this thread: from the gradients stored at them, or from ones.
///
/// # Errors
///
/// As [`backward`] and [`forward`]. The arrays are not enqueued any more.
#[track_caller]
pub fn traverse(mode: Mode, keep: Keep) -> Result<(), Error> {
    traversal::traverse(mode, keep)
}

/// Calls a function; what it records carries no gradients, and [`Array::enable_grad`](crate::Array::enable_grad) does
/// nothing in it.
pub fn suspend<R>(function: impl FnOnce() -> R) -> R {
    let _scope = Scope::begin(true);
    function()
}

/// Calls a function inside of [`suspend`]; what it records carries gradients again.
pub fn resume<R>(function: impl FnOnce() -> R) -> R {
    let _scope = Scope::begin(false);
    function()
}

/// Calls a function; in it, no gradients flow through the arrays of a value. Those of values that were computed from
/// them before do, as do others.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
///
/// let (mut x, mut y) = (Float::from(2.0), Float::from(3.0));
/// x.enable_grad();
/// y.enable_grad();
/// let z = jit::ad::suspend_for(&x, || &x * &y);
/// z.backward()?;
/// assert_eq!((x.grad().item()?, y.grad().item()?), (0.0, 2.0));
/// # Ok::<(), jit_runtime::Error>(())
/// ```
pub fn suspend_for<R>(tree: &(impl Traverse + ?Sized), function: impl FnOnce() -> R) -> R {
    let _scope = ChosenScope::begin(&arrays(tree), true);
    function()
}

/// Calls a function inside of [`suspend`] or [`suspend_for`]; in it, gradients flow through the arrays of a value, and
/// through what is computed from them there.
pub fn resume_for<R>(tree: &(impl Traverse + ?Sized), function: impl FnOnce() -> R) -> R {
    let _scope = ChosenScope::begin(&arrays(tree), false);
    function()
}

/// Calls a function; [`graphviz`] draws the values that are computed in it, and through which gradients flow, in a box
/// of this name. Scopes nest. Nothing else depends on them.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
///
/// let mut x = Float::from([1.0, 2.0]);
/// x.enable_grad();
/// let loss = jit::ad::scope("loss", || (&x * &x).sum());
/// assert!(jit::ad::graphviz(&loss).contains("label=\"loss\""));
/// ```
pub fn scope<R>(name: &str, function: impl FnOnce() -> R) -> R {
    let _scope = NamedScope::begin(name);
    function()
}

/// Names all arrays of a value, by a name and their paths in it: `layer.weights[0]`.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
///
/// let pair = (Float::from(1.0), Float::from(2.0));
/// jit::ad::set_label(&pair, "pair");
/// assert_eq!(jit::leaves(&pair)[1].1.label.as_deref(), Some("pair.1"));
/// ```
pub fn set_label(tree: &(impl Traverse + ?Sized), name: &str) {
    tree.traverse(&mut Visitor::with_paths(&mut |path, leaf| {
        if let Leaf::Array(var) | Leaf::Shared(var) = leaf {
            let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
            var.set_label(format!("{name}{dot}{path}"));
        }
    }));
}

#[track_caller]
fn with_zeros<X: Traverse + Clone>(like: &X, arrays: &[Var], found: Vec<Option<Var>>) -> X {
    let zero = |var: &Var| crate::trace::record::literal(var.ty(), 0, var.width());
    let all = arrays.iter().zip(found).map(|(var, found)| found.unwrap_or_else(|| zero(var)));
    let mut tree = like.clone();
    form::with_arrays(&mut tree, all.collect::<Vec<_>>());
    tree
}
