//! Operations whose derivatives users write.

use jit_runtime::{Error, ErrorKind, Site};

use super::form::{filled, flows_of, hollow, with_arrays};
use crate::graph::Var;
use crate::graph::gradients::{self, Scope};
use crate::graph::tape::{self, Call, Flow, Rule};
use crate::misuse;
use crate::trace::record;
use crate::traverse::{Traverse, owned_arrays};

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
    /// What the operation takes.
    type Input: Traverse + Clone + Send + Sync;
    /// What it returns.
    type Output: Traverse + Clone + Send + Sync;
    /// What the derivative reads beside the gradient. For derivatives of the derivative, inputs that it reads are saved
    /// as they are; other values count as constants there.
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
        let _suspended = Scope::begin(true);
        op.forward(&constants)
    };
    // An input that is saved is what the program passed, so that the derivative can be differentiated by it.
    let passed = owned_arrays(&constants);
    let original = |saved: Var| match passed.iter().position(|var| var.is_same(&saved)) {
        Some(position) => inputs[position].clone(),
        None => saved,
    };
    let (results, kept) = (owned_arrays(&output), owned_arrays(&saved).into_iter().map(original).collect());
    let (input, form, saved) = (hollow(&constants), hollow(&output), hollow(&saved));
    let rule = || -> Box<dyn Rule> { Box::new(CustomRule { op, input, output: form, saved }) };
    with_arrays(&mut output, tape::attach(&results, inputs, kept, rule, site));
    output
}

/// The derivative of a user's operation. The values have the form of the operation's, with constants for arrays.
struct CustomRule<O: CustomOp> {
    op: O,
    input: O::Input,
    output: O::Output,
    saved: O::Saved,
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
    fn saved(&self, call: &Call) -> O::Saved {
        let mut saved = self.saved.clone();
        let is_final = gradients::is_suspended();
        let arrays = call.saved.iter().map(|var| if is_final { record::detached(var) } else { var.clone() });
        with_arrays(&mut saved, arrays.collect::<Vec<_>>());
        saved
    }
}

impl<O: CustomOp> Rule for CustomRule<O> {
    fn name(&self) -> &str {
        self.op.name()
    }

    #[track_caller]
    fn backward(&self, call: &Call, gradients: &[Option<Var>]) -> Result<Flow, Error> {
        let gradient = filled(&self.output, gradients);
        let found = self.op.backward(&self.saved(call), &gradient)?;
        checked_flows(self.name(), &found, call.inputs.len())
    }

    #[track_caller]
    fn forward(&self, call: &Call, tangents: &[Option<Var>]) -> Result<Flow, Error> {
        let tangent = filled(&self.input, tangents);
        let found = self.op.jvp(&self.saved(call), &tangent).map_err(|error| error.at(call.site))?;
        checked_flows(self.name(), &found, call.outputs.lock().len())
    }
}
