//! Operations whose derivatives users write.

use std::sync::atomic::{AtomicBool, Ordering};

use jit_runtime::log::{self, Level};
use jit_runtime::{Error, ErrorKind, Site};

use super::form::{filled, flows_of, hollow, with_arrays};
use crate::graph::Var;
use crate::graph::gradients::{self, Scope};
use crate::graph::op::Op;
use crate::graph::tape::{self, Call, Flow, Rule};
use crate::misuse;
use crate::trace::record;
use crate::traverse::{Traverse, owned_arrays};

/// Whether there was a warning of an array that an operation reads beside its input.
static HAS_WARNED: AtomicBool = AtomicBool::new(false);

/// An operation with a derivative of its own: one that is cheaper, more exact, or other than that of the operations
/// that compute it.
///
/// ```
/// # use jit_core as jit;
/// use jit::ad::{CustomOp, custom};
/// use jit::prelude::*;
///
/// /// The identity; gradients are clipped on their way back.
/// struct Clipped(f32);
///
/// impl CustomOp for Clipped {
///     type Input = Float;
///     type Output = Float;
///     type Saved = ();
///
///     fn forward(&self, x: &Float) -> (Float, ()) {
///         (x.clone(), ())
///     }
///
///     fn backward(&self, _: &(), gradient: &Float) -> Result<Float, jit_runtime::Error> {
///         Ok(gradient.clamp(-self.0, self.0))
///     }
/// }
///
/// let mut x = Float::from([1.0, 5.0]);
/// x.enable_grad();
/// let y = custom(Clipped(1.0), &x);
/// (&y * &y).sum().backward()?;
/// assert_eq!(x.grad().to_vec()?, [1.0, 1.0]);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
pub trait CustomOp: Send + Sync + 'static {
    /// What the operation takes. Gradients flow to the arrays in it alone: arrays in fields of the operation are
    /// constants, and the first one that carries gradients causes a warning.
    type Input: Traverse + Clone + Send + Sync;
    /// What it returns.
    type Output: Traverse + Clone + Send + Sync;
    /// What the derivative reads beside the gradient. In derivatives of the derivative, gradients flow through inputs
    /// and results that are saved; if others are, `forward` is called again for them there, with gradients.
    type Saved: Traverse + Clone + Send + Sync;

    /// Returns the name of the operation, for messages.
    fn name(&self) -> &str {
        "custom operation"
    }

    /// Returns the result, and what the derivative reads. No gradients flow through what is recorded here.
    fn forward(&self, input: &Self::Input) -> (Self::Output, Self::Saved);

    /// Returns the gradients of the input from those of the output, which are zeros where nothing flows. For an array
    /// of width 1, which all lanes share, each lane may return its own: they are added. In a traced loop they must be
    /// returned so, for lanes are in different iterations.
    ///
    /// # Errors
    ///
    /// An error ends the traversal, which then stores nothing.
    fn backward(&self, saved: &Self::Saved, gradient: &Self::Output) -> Result<Self::Input, Error>;

    /// Returns the tangents of the output from those of the input, which are zeros where nothing flows.
    ///
    /// # Errors
    ///
    /// An error ends the traversal. Without an implementation, the operation has no forward mode.
    fn jvp(&self, saved: &Self::Saved, tangent: &Self::Input) -> Result<Self::Output, Error> {
        let _ = (saved, tangent);
        let what = format!("`{}` has no forward mode", self.name());
        Err(Error::new(ErrorKind::InvalidArgument, what).with_hint("implement `CustomOp::jvp`"))
    }
}

/// Calls an operation with a derivative of its own.
#[must_use]
#[track_caller]
pub fn custom<O: CustomOp>(op: O, input: &O::Input) -> O::Output {
    let _line = misuse::enter();
    let site = Site::here();
    let inputs = owned_arrays(input);
    let mut constants = input.clone();
    with_arrays(&mut constants, inputs.iter().map(record::detached).collect::<Vec<_>>());
    let (mut output, saved) = {
        let scope = Scope::begin_watched();
        let both = op.forward(&constants);
        if scope.has_ended_some() {
            warn_of_captured(op.name(), site);
        }
        both
    };
    let (passed, results) = (owned_arrays(&constants), owned_arrays(&output));
    let mut kept = owned_arrays(&saved);
    let origins: Vec<Origin> = kept.iter().map(|var| Origin::of(var, &passed, &results)).collect();
    for (var, origin) in kept.iter_mut().zip(&origins) {
        if let Origin::Input(position) = *origin {
            *var = inputs[position].clone();
        }
    }
    let (input, form, saved) = (hollow(&constants), hollow(&output), hollow(&saved));
    let rule = || -> Box<dyn Rule> { Box::new(CustomRule { op, input, output: form, saved, origins }) };
    with_arrays(&mut output, tape::attach(&results, inputs, kept, rule, site));
    output
}

/// Warns of the first operation that reads an array with gradients from a field or a closure: it is no input, so
/// nothing flows to it.
#[cold]
fn warn_of_captured(name: &str, site: Site) {
    if HAS_WARNED.swap(true, Ordering::Relaxed) {
        return;
    }
    log::emit(Level::Warn, || {
        format!(
            "`{name}` reads an array that carries gradients and is not part of its input: nothing flows to it \
             ({site})\n  \
             help: pass it as a part of `CustomOp::Input`, or `detach()` it if it is a constant"
        )
    });
}

/// What a value is that an operation saves, so that its derivative can be differentiated by it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Input(usize),
    Result(usize),
    /// A value that is computed between, from inputs or not.
    Between,
    /// A value through which no gradients flow.
    Constant,
}

impl Origin {
    fn of(var: &Var, inputs: &[Var], results: &[Var]) -> Origin {
        let position_in = |vars: &[Var]| vars.iter().position(|other| other.is_same(var));
        match (position_in(inputs), position_in(results)) {
            (Some(position), _) => Origin::Input(position),
            (None, Some(position)) => Origin::Result(position),
            (None, None) if var.ty().is_float() && var.op() != Op::Literal => Origin::Between,
            (None, None) => Origin::Constant,
        }
    }
}

/// The derivative of a user's operation. The values have the form of the operation's, with constants for arrays.
struct CustomRule<O: CustomOp> {
    op: O,
    input: O::Input,
    output: O::Output,
    saved: O::Saved,
    /// One for each array that is saved.
    origins: Vec<Origin>,
}

/// Returns the arrays of what an operation has returned, of which there must be so many.
fn checked_flows(name: &str, tree: &impl Traverse, count: usize) -> Result<Flow, Error> {
    let flows = flows_of(tree);
    if flows.len() == count {
        return Ok(flows);
    }
    let what = format!("the derivative of `{name}` returned {} arrays where {count} belong", flows.len());
    Err(Error::new(ErrorKind::InvalidArgument, what))
}

impl<O: CustomOp> CustomRule<O> {
    /// Returns what was saved; gradients flow through it only if those of the derivative are wanted.
    #[track_caller]
    fn saved(&self, call: &Call) -> Result<O::Saved, Error> {
        let mut saved = self.saved.clone();
        let arrays: Vec<Var> = match gradients::is_suspended() {
            true => call.saved.iter().map(record::detached).collect(),
            false => self.saved_with_gradients(call)?,
        };
        with_arrays(&mut saved, arrays);
        Ok(saved)
    }

    #[track_caller]
    fn saved_with_gradients(&self, call: &Call) -> Result<Vec<Var>, Error> {
        let between = if self.origins.contains(&Origin::Between) { self.saved_again(call)? } else { Vec::new() };
        let array = |(place, (var, origin)): (usize, (&Var, &Origin))| match *origin {
            Origin::Result(position) => call.result_of(position, var),
            Origin::Between => between[place].clone(),
            Origin::Input(_) | Origin::Constant => var.clone(),
        };
        Ok(call.saved.iter().zip(&self.origins).enumerate().map(array).collect())
    }

    /// Calls the operation again, with gradients; returns the arrays that it saves.
    #[track_caller]
    fn saved_again(&self, call: &Call) -> Result<Vec<Var>, Error> {
        let inputs: Vec<Option<Var>> = call.inputs.iter().cloned().map(Some).collect();
        let (_, saved) = self.op.forward(&filled(&self.input, &inputs));
        let saved = owned_arrays(&saved);
        if saved.len() == self.origins.len() {
            return Ok(saved);
        }
        let (name, count, before) = (self.name(), saved.len(), self.origins.len());
        let what = format!("`{name}` has saved {count} arrays in a second call, and {before} in the first one");
        Err(Error::new(ErrorKind::InvalidArgument, what).at(call.site).with_hint("save the same arrays in each call"))
    }
}

impl<O: CustomOp> Rule for CustomRule<O> {
    fn name(&self) -> &str {
        self.op.name()
    }

    #[track_caller]
    fn backward(&self, call: &Call, gradients: &[Option<Var>]) -> Result<Flow, Error> {
        let gradient = filled(&self.output, gradients);
        let found = self.op.backward(&self.saved(call)?, &gradient)?;
        checked_flows(self.name(), &found, call.inputs.len())
    }

    #[track_caller]
    fn forward(&self, call: &Call, tangents: &[Option<Var>]) -> Result<Flow, Error> {
        let tangent = filled(&self.input, tangents);
        let found = self.op.jvp(&self.saved(call)?, &tangent).map_err(|error| error.at(call.site))?;
        checked_flows(self.name(), &found, call.outputs.lock().len())
    }
}
