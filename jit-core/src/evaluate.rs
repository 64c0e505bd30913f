//! Operations on all arrays of a value, or of the program: evaluating, scheduling, moving, listing and drawing them.

use std::fmt::Write as _;
use std::sync::Arc;

use jit_runtime::device::Device;
use jit_runtime::ir::Type;
use jit_runtime::memory::Buffer;
use jit_runtime::{Error, Site};
use rustc_hash::FxHashMap;

use crate::array::transferred;
use crate::autodiff::{self, is_variable, variable, with_arrays};
use crate::graph::device::Devices;
use crate::graph::node::Node;
use crate::graph::{Var, pool};
use crate::schedule::{self as scheduler, state_name};
use crate::trace::record;
use crate::traverse::{Leaf, Traverse, Visitor, arrays, for_each_array, owned_arrays};
use smallvec::SmallVec;

/// Evaluates all arrays of a value, in as few kernels as possible, together with the arrays that [`schedule`] has
/// marked on this thread. Returns when the kernels are launched; reading an array waits for it.
///
/// # Errors
///
/// When a value is known only inside a traced loop, depends on a placeholder, or a kernel cannot be compiled or
/// launched. All arrays are then unchanged.
#[track_caller]
pub fn eval(tree: &(impl Traverse + ?Sized)) -> Result<(), Error> {
    let site = Site::here();
    // Usually few.
    let mut vars: SmallVec<[Var; 4]> = SmallVec::new();
    for_each_array(tree, |var| vars.push(var.clone()));
    let mut wanted: SmallVec<[&Var; 8]> = SmallVec::new();
    vars.iter().for_each(|var| wanted.push(var));
    scheduler::evaluate(&wanted, "`eval` requests it", site)
}

/// Marks all arrays of a value for the next evaluation of this thread. Arrays that no longer live then are not
/// computed.
pub fn schedule(tree: &(impl Traverse + ?Sized)) {
    arrays(tree).iter().for_each(scheduler::mark);
}

/// Waits for all launches, and runs pending prints and assertions.
///
/// # Errors
///
/// When a launch of any thread failed and the failure has not been reported yet. Each failure is reported by one call,
/// in order.
#[track_caller]
pub fn sync() -> Result<(), Error> {
    scheduler::sync(Site::here())
}

/// The known properties of an array, without its elements.
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

/// Returns the arrays of a value, each with its path: `scene.lights[3].color`. In a frozen function this is a decision
/// by their widths.
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
        let (ty, width, state, label) = (var.ty(), var.width().get(), state_name(&var), var.label());
        found.push((path, LeafInfo { ty, width, state, label }));
    }
    found
}

/// Returns the graph of the arrays of a value, in the language of Graphviz (`dot -Tsvg`). Evaluates nothing.
pub fn graphviz(tree: &(impl Traverse + ?Sized)) -> String {
    let vars = arrays(tree);
    scheduler::draw(&vars.iter().collect::<Vec<_>>())
}

/// Returns a table of the arrays that take memory or have a name: number, type, width, state, bytes, name, and the line
/// that made them. It lists the arrays of all threads. The gradient of a variable `a` is named `a.grad`;
/// [`ad::whos`](crate::ad::whos) lists variables, and what is kept for gradients.
#[must_use]
pub fn whos() -> String {
    let mut rows = Vec::new();
    let gradients = autodiff::names_of_gradients();
    pool::for_each(|number, node| {
        if let Some(var) = Node::revive(node).filter(|var| var.has_data() || var.label().is_some()) {
            let name = || gradients.iter().find(|(other, _)| other.is_same(&var)).map(|(_, name)| name.clone());
            rows.push(row(number, &var, var.label().or_else(name)));
        }
    });
    let bytes: usize = rows.iter().map(|(bytes, _)| bytes).sum();
    let mut table =
        format!("{:>8}  {:5} {:>10}  {:12} {:>12}  name, origin\n", "id", "type", "width", "state", "bytes");
    rows.iter().for_each(|(_, text)| table.push_str(text));
    let _ = writeln!(table, "{} arrays, {bytes} bytes", rows.len());
    table
}

fn row(number: usize, var: &Var, label: Option<String>) -> (usize, String) {
    let (bytes, site) = (bytes_of(var), var.site());
    let (ty, width, state) = (var.ty().name(), var.width(), state_name(var));
    let label = label.map(|label| format!("“{label}” ")).unwrap_or_default();
    let variable = if autodiff::is_variable(var) { " (variable)" } else { "" };
    let (file, line) = (site.file(), site.line());
    let text = format!("{number:>8}  {ty:5} {width:>10}  {state:12} {bytes:>12}  {label}{file}:{line}{variable}\n");
    (bytes, text)
}

/// Returns the bytes of memory that an array takes.
fn bytes_of(var: &Var) -> usize {
    var.data().map_or(0, |buffer: Arc<Buffer>| buffer.size_bytes())
}

/// Moves all arrays of a value, such as a model or the state of an optimiser, to a device. Arrays that are there
/// already stay as they are; others are copied as by [`Array::to`](crate::Array::to). A variable becomes a variable on
/// the device, without a stored gradient. Arrays that several parts of the value share are shared afterwards, too.
/// Those behind `Rc` and `Arc` have other owners, and are left where they are.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
///
/// let mut line = (Float::from([1.0, 2.0]), Float::from([3.0, 4.0]));
/// jit::move_to(&mut line, Device::Interpreter)?;
/// assert_eq!(line.0.device(), Device::Interpreter);
/// assert_eq!((&line.0 + &line.1).to_vec()?, [4.0, 6.0]);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
///
/// # Errors
///
/// As [`Array::to`](crate::Array::to). Then the value is as it was.
#[track_caller]
pub fn move_to(value: &mut impl Traverse, device: Device) -> Result<(), Error> {
    let site = Site::here();
    let mut moved: Vec<(Var, Var)> = Vec::new();
    let mut position_of = FxHashMap::default();
    let mut arrays = Vec::new();
    for var in owned_arrays(value) {
        let position = *position_of.entry(var.address()).or_insert(moved.len());
        if position == moved.len() {
            let there = moved_array(&var, device, site)?;
            // The old array lives on until all are copied, so no other one gets its identity.
            moved.push((var, there));
        }
        arrays.push(moved[position].1.clone());
    }
    with_arrays(value, arrays);
    Ok(())
}

fn moved_array(var: &Var, device: Device, site: Site) -> Result<Var, Error> {
    if !is_variable(var) || var.devices() == Devices::of(device) {
        return transferred(var, device, site);
    }
    let copy = variable(&transferred(&record::detached(var), device, site)?, site);
    var.label().into_iter().for_each(|label| copy.set_label(label));
    Ok(copy)
}
