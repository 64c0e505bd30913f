//! Walking over the arrays in a value, and what is done with all of them at once.
//!
//! [`Traverse`] is implemented for arrays, for containers and tuples of what implements it, and for numbers of the host, which hold no
//! arrays; types of the user derive it. A visitor sees the arrays in the order of the fields, which is the same for equal shapes.
//!
//! | part | file |
//! |---|---|
//! | the trait, what is done with trees | this file |
//! | what walks | `visitor` |
//! | replacing arrays, and what keeps their types | `lent` |
//! | arrays, numbers, containers | `containers` |

use std::panic::Location;

use jit_runtime::ir::Type;
use jit_runtime::{Error, memory};

use crate::schedule as scheduler;
use crate::trace::Var;

mod containers;
mod lent;
mod visitor;

pub(crate) use lent::{check_number, replace, zero_like};

pub use visitor::{Constant, HostValue, Leaf, Visitor, VisitorMut};

/// A value that may hold arrays.
///
/// Derive it for types of your own: `#[derive(Traverse)]`, which describes its options. Everything in a value is then either an
/// array, which can be evaluated, carried through traced loops and replaced; or decided by the host, like a number, a length or the
/// variant of an `enum`, and then the same for all lanes.
///
/// # Writing it by hand
///
/// Both functions name the same arrays, in the same order, each time. Wherever arrays are replaced, their number and element types are
/// checked: an implementation that does otherwise is a panic, and never an array of a wrong type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be searched for arrays",
    label = "this is neither an array nor made of arrays",
    note = "derive it for a type of yours, by `#[derive(Traverse)]`; a field that has nothing to do with arrays is left out by \
            `#[traverse(skip)]`"
)]
pub trait Traverse {
    /// Shows every array to a visitor, in the order of the fields.
    fn traverse(&self, visitor: &mut Visitor<'_>);

    /// Lends every array to a visitor, in the same order. Arrays behind `&`, `Rc` and `Arc` belong to others, too, and are not lent.
    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>);
}

/// The arrays of a value, in order.
pub(crate) fn arrays(tree: &(impl Traverse + ?Sized)) -> Vec<Var> {
    let mut vars = Vec::new();
    tree.traverse(&mut Visitor::new(&mut |_, leaf| {
        if let Leaf::Array(var) | Leaf::Shared(var) = leaf {
            vars.push(var.clone());
        }
    }));
    vars
}

/// The arrays of a value that [`Traverse::traverse_mut`] lends, in order.
pub(crate) fn owned_arrays(tree: &(impl Traverse + ?Sized)) -> Vec<Var> {
    let mut vars = Vec::new();
    tree.traverse(&mut Visitor::new(&mut |_, leaf| {
        if let Leaf::Array(var) = leaf {
            vars.push(var.clone());
        }
    }));
    vars
}

/// Computes all arrays of a value, in as few kernels as possible, and whatever [`schedule`] has marked on this thread. Returns when
/// the kernels are launched; reading an array waits for it.
///
/// # Errors
///
/// When a value is known only inside of a traced loop, depends on a placeholder, or a kernel cannot be compiled or launched. All arrays are
/// then as they were before.
#[track_caller]
pub fn eval(tree: &(impl Traverse + ?Sized)) -> Result<(), Error> {
    let site = Location::caller();
    let vars = arrays(tree);
    scheduler::evaluate(&vars.iter().collect::<Vec<_>>(), "`eval` asks for it", site)
}

/// Marks all arrays of a value to be computed together with the next evaluation of this thread, those that still live then.
pub fn schedule(tree: &(impl Traverse + ?Sized)) {
    arrays(tree).iter().for_each(scheduler::mark);
}

/// Waits until everything that was launched is done. What waits for the next evaluation to happen, lines that lanes print and
/// assertions, happens.
///
/// # Errors
///
/// When a launch of any thread failed and nobody has seen it yet: each such failure is reported by one call, the first one first.
#[track_caller]
pub fn sync() -> Result<(), Error> {
    scheduler::sync(Location::caller())
}

/// What is known about an array without looking at its elements.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LeafInfo {
    /// The element type.
    pub ty: Type,
    /// The number of elements.
    pub width: usize,
    /// `literal`, `opaque`, `placeholder`, `evaluated` or `unevaluated`.
    pub state: &'static str,
    /// The name.
    pub label: Option<String>,
}

/// The arrays of a value, each with its path: `scene.lights[3].color`. A frozen function decides by their widths then.
#[track_caller]
pub fn leaves(tree: &(impl Traverse + ?Sized)) -> Vec<(String, LeafInfo)> {
    let mut vars = Vec::new();
    tree.traverse(&mut Visitor::with_paths(&mut |path, leaf| {
        if let Leaf::Array(var) | Leaf::Shared(var) = leaf {
            vars.push((path.to_owned(), var.clone()));
        }
    }));
    let mut found = Vec::with_capacity(vars.len());
    for (path, var) in vars {
        let (ty, width, state, label) = (var.ty(), var.width().get(), scheduler::state_name(&var), var.label());
        found.push((path, LeafInfo { ty, width, state, label }));
    }
    found
}

/// The graph behind the arrays of a value, in the language of Graphviz (`dot -Tsvg`). Evaluates nothing.
pub fn graphviz(tree: &(impl Traverse + ?Sized)) -> String {
    let vars = arrays(tree);
    scheduler::draw(&vars.iter().collect::<Vec<_>>())
}

/// Bytes of memory that an array takes.
pub(crate) fn bytes_of(var: &Var) -> usize {
    var.data().map_or(0, |buffer: std::sync::Arc<memory::Buffer>| buffer.size_bytes())
}
