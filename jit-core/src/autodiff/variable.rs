//! Variables: arrays at which gradients are stored.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use jit_runtime::log::{self, Level};
use jit_runtime::{Error, ErrorKind, Site};

use super::forward::Tangents;
use super::node::summed;
use super::traversal::{self, Keep, Seed};
use super::vertex::{Source, Value, Vertex, carries, order};
use super::{collect, passed, simplify};
use crate::array::{Array, Element};
use crate::graph::Var;
use crate::graph::gradients::{self, Scope};
use crate::graph::payload::RegionId;
use crate::graph::scopes::is_enabled;
use crate::graph::tape::{self, Tape};
use crate::misuse::{self, Misuse};
use crate::size::table;
use crate::trace::{record, reduce};
use jit_runtime::ir::ReduceOp;

/// The time of the last change of tangents.
static CLOCK: AtomicU64 = AtomicU64::new(0);

/// Whether there was a warning of a value that stays what it is.
static HAS_WARNED: AtomicBool = AtomicBool::new(false);

/// Differentiation: see the [module](crate::autodiff).
impl<T: Element> Array<T> {
    /// Makes the array a variable: values that are computed from it from now on carry gradients, which
    /// [`Array::backward`] stores here and [`Array::grad`] returns.
    ///
    /// The array gets an identity of its own. Copies made before are not variables, and a constant that becomes a
    /// variable is not folded any more. Does nothing for arrays that already carry gradients, with a warning for the
    /// first that is computed from a variable, for element types other than floats, and inside of
    /// [`suspend`](super::suspend).
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    ///
    /// let mut x = Float::from([1.0, 2.0, 3.0]);
    /// x.enable_grad();
    /// let y = (&x * &x).sum();
    /// y.backward()?;
    /// assert_eq!(x.grad().to_vec()?, [2.0, 4.0, 6.0]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    #[track_caller]
    pub fn enable_grad(&mut self) {
        let site = Site::here();
        warn_of_computed(self.var(), site);
        enable(self.var_mut(), site);
    }

    /// Makes the array a constant: [`Array::detach`] in place.
    #[track_caller]
    pub fn disable_grad(&mut self) {
        *self = self.detach();
    }

    /// Returns whether values that are computed from the array now carry gradients: whether it depends on a variable,
    /// and is not [suspended](super::suspend). Never for integers and masks, nor for results of operations whose
    /// derivative is zero everywhere, as `floor`.
    #[must_use]
    pub fn grad_enabled(&self) -> bool {
        is_enabled(self.var())
    }

    /// Returns the gradient that was stored for the array, as wide as it: zeros if there is none.
    ///
    /// For a variable that is what [`Array::backward`] has added up. For a result it is the tangent that flows to it
    /// from variables on which [`Array::forward`] was called, or what was set. The gradient is a value like any other:
    /// it is lazy, no gradients flow through it, and what it shares with other values is computed once.
    ///
    /// # Panics
    ///
    /// When tangents reach the array through something that has no derivative.
    #[must_use]
    #[track_caller]
    pub fn grad(&self) -> Self {
        Array::from_var(gradient_of(self.var()).unwrap_or_else(|error| misuse::panic_with(error)))
    }

    /// Stores a gradient: as the start of [`backward_from`](super::backward_from) or
    /// [`forward_from`](super::forward_from), or to continue from. Ignored for arrays that carry no gradients.
    ///
    /// A gradient of width 1 counts for all elements. A wider one of an array of width 1 is summed.
    ///
    /// # Panics
    ///
    /// When the widths differ otherwise.
    #[track_caller]
    pub fn set_grad(&self, gradient: &Self) {
        if carries(self.var()) {
            store(self.var(), Some(fitting(self.var(), gradient.var())));
        }
    }

    /// Adds to the stored gradient; see [`Array::set_grad`].
    ///
    /// # Panics
    ///
    /// As [`Array::set_grad`].
    #[track_caller]
    pub fn accum_grad(&self, gradient: &Self) {
        if carries(self.var()) {
            accumulate(self.var(), &fitting(self.var(), gradient.var()));
        }
    }

    /// Removes the stored gradient, and the tangents that flow from here.
    pub fn clear_grad(&self) {
        if carries(self.var()) {
            store(self.var(), None);
        }
    }

    /// Returns an array with the value of this one, through which gradients flow as through another one.
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    ///
    /// let mut x = Float::from([0.2, 1.7]);
    /// x.enable_grad();
    /// // Rounds, and passes gradients straight through.
    /// let y = x.round().replace_grad(&x);
    /// y.backward()?;
    /// assert_eq!(y.to_vec()?, [0.0, 2.0]);
    /// assert_eq!(x.grad().to_vec()?, [1.0, 1.0]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the widths differ, and neither is 1.
    #[must_use]
    #[track_caller]
    pub fn replace_grad(&self, other: &Self) -> Self {
        let width = record::common_width([Some(self.var()), Some(other.var()), None]);
        let [value, other] = [self, other].map(|array| record::broadcast(array.var(), width));
        Array::from_var(passed::replaced(&record::detached(&value), &other))
    }

    /// Lets gradients flow from the array, each of whose elements counts once, to all variables behind it, where they
    /// are added to the stored ones.
    ///
    /// The operations between are released: gradients flow through them once. To use them again, see
    /// [`backward_keep`](super::backward_keep). Nothing is evaluated.
    ///
    /// # Errors
    ///
    /// When the array does not depend on a variable, or does through something that has no derivative. Stored gradients
    /// are unchanged then.
    #[track_caller]
    pub fn backward(&self) -> Result<(), Error> {
        traversal::backward(&[self.var().clone()], Seed::One, Keep::Nothing)
    }

    /// Lets a tangent of one flow from the variable to everything that is computed from it: [`Array::grad`] of a result
    /// is then its derivative by all elements of the variable together.
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    ///
    /// let mut x = Float::from([3.0]);
    /// x.enable_grad();
    /// let y = &x * &x;
    /// x.forward()?;
    /// assert_eq!(y.grad().to_vec()?, [6.0]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the array carries no gradients.
    #[track_caller]
    pub fn forward(&self) -> Result<(), Error> {
        traversal::forward(&[self.var().clone()], Seed::One)
    }
}

/// Returns a gradient in the width of its array.
#[track_caller]
fn fitting(var: &Var, gradient: &Var) -> Var {
    let _suspended = Scope::begin(true);
    let gradient = record::detached(gradient);
    match (var.width(), gradient.width()) {
        (_, width) if width == 1 => gradient,
        (width, _) if width == 1 => reduce::reduce(ReduceOp::Add, &gradient),
        (width, other) if width == other => gradient,
        _ => Misuse::new(
            format!("a gradient of width {} does not belong to an array of width {}", gradient.lanes(), var.lanes()),
            Site::here(),
        )
        .value("the array", var)
        .hint("a gradient is as wide as its array, or has width 1")
        .panic(),
    }
}

/// Replaces the stored gradient.
pub(super) fn store(var: &Var, gradient: Option<Var>) {
    gradient.iter().for_each(|_| collect::note_stored());
    let now = CLOCK.load(Ordering::Relaxed);
    let old = tape::with_record(var, |record| {
        record.pulled = now;
        (std::mem::replace(&mut record.gradient, gradient), std::mem::take(&mut record.tangents))
    });
    drop(old);
}

/// Returns the stored gradient, without tangents that flow to it.
pub(super) fn stored(var: &Var) -> Option<Var> {
    tape::read(var, |record| record.gradient.clone()).flatten()
}

/// Warns, once in a program, where an array that is to be a variable is computed from one: no gradient is stored there.
pub(super) fn warn_of_computed(var: &Var, site: Site) {
    let is_computed = || var.region() == RegionId::NONE && !matches!(tape::of(var), Some(Tape::Variable));
    // In a recording arguments represent variables.
    if !carries(var) || table::is_recording() || !is_computed() || HAS_WARNED.swap(true, Ordering::Relaxed) {
        return;
    }
    log::emit(Level::Warn, || {
        format!(
            "`enable_grad` has no effect on a value that is computed from a variable: gradients flow on through it, \
             and none is stored there ({site})\n  \
             help: write `x = x.detach()` before it, for a variable with that value"
        )
    });
}

/// Makes an array a variable, if it can be one and is none.
pub(super) fn enable(var: &mut Var, site: Site) {
    // In a traced loop, any number may carry gradients until the loop is complete.
    let is_variable = carries(var) && var.region() == RegionId::NONE;
    if !var.ty().is_float() || is_variable || gradients::is_suspended() {
        return;
    }
    let variable = variable(var, site);
    var.label().into_iter().for_each(|label| variable.set_label(label));
    *var = variable;
}

/// Returns the gradient of an array, as wide as it: zeros if there is none.
#[track_caller]
pub(super) fn gradient_of(var: &Var) -> Result<Var, Error> {
    Ok(match stored_gradient(var)? {
        Some(gradient) => record::broadcast(&gradient, var.width()),
        None => record::literal(var.ty(), 0, var.width()),
    })
}

/// Returns a variable with some value.
pub(crate) fn variable(value: &Var, site: Site) -> Var {
    collect::collect();
    simplify::enable();
    tape::taped(value, Tape::Variable, site)
}

/// Replaces the gradient that is stored at a variable.
pub(crate) fn set_stored(var: &Var, gradient: Var) {
    store(var, Some(gradient));
}

/// Removes the gradient that is stored at a variable.
pub(crate) fn clear_stored(var: &Var) {
    store(var, None);
}

/// Returns the gradient that is stored at a variable.
pub(crate) fn stored_at_variable(var: &Var) -> Option<Var> {
    tape::read(var, |record| record.gradient.clone().filter(|_| matches!(record.tape, Some(Tape::Variable)))).flatten()
}

/// Removes the stored gradient, and returns it.
pub(super) fn take(var: &Var) -> Option<Var> {
    tape::read(var, |record| record.gradient.take()).flatten()
}

/// Adds to the stored gradient.
#[track_caller]
pub(super) fn accumulate(var: &Var, gradient: &Var) {
    let _suspended = Scope::begin(true);
    let gradient = &record::detached(gradient);
    let sum = stored(var).map_or_else(|| gradient.clone(), |old| summed(&old, gradient));
    collect::note_stored();
    drop(tape::with_record(var, |record| record.gradient.replace(sum)));
}

/// Lets a tangent flow from a variable from now on.
#[track_caller]
pub(super) fn emit_tangent(var: &Var, tangent: Var) {
    let time = CLOCK.fetch_add(1, Ordering::Relaxed) + 1;
    collect::note_stored();
    tape::with_record(var, |record| record.tangents.push((time, tangent)));
}

/// Returns the stored gradient, after tangents have flowed to it.
#[track_caller]
fn stored_gradient(var: &Var) -> Result<Option<Var>, Error> {
    if !carries(var) {
        return Ok(stored(var));
    }
    let now = CLOCK.load(Ordering::Relaxed);
    let pulled = tape::read(var, |record| record.pulled).unwrap_or(0);
    if now > pulled && !matches!(tape::of(var), Some(Tape::Variable)) {
        if let Some(tangent) = pull(var, pulled)? {
            accumulate(var, &tangent);
        }
        tape::with_record(var, |record| record.pulled = now);
    }
    Ok(stored(var))
}

/// Returns the tangent that has flowed to a value since a time.
#[track_caller]
fn pull(var: &Var, since: u64) -> Result<Option<Var>, Error> {
    let begin = Instant::now();
    let vertices = order(std::slice::from_ref(var), &[])?;
    let _suspended = Scope::begin(true);
    let mut tangents = Tangents::default();
    let mut any = false;
    for vertex in &vertices {
        let Vertex::Value(Value { var, source: Source::Variable }) = vertex else { continue };
        let all = tape::read(var, |record| record.tangents.clone()).unwrap_or_default();
        let new = all.into_iter().filter(|(time, _)| *time > since).map(|(_, tangent)| tangent);
        if let Some(sum) = new.reduce(|sum, tangent| summed(&sum, &tangent)) {
            tangents.set(var, sum);
            any = true;
        }
    }
    if any {
        tangents.flow(&vertices)?;
        traversal::log("forward", &vertices, begin);
    }
    Ok(tangents.of(var))
}

/// Returns the error for values that do not depend on a variable.
#[cold]
pub(super) fn independent(site: Site, hint: &str) -> Error {
    let what = "the value does not depend on a variable, or gradients have flowed through it before";
    Error::new(ErrorKind::InvalidArgument, what).at(site).with_hint(hint)
}
