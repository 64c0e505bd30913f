//! Functions that are computed again for their derivative.

use jit_runtime::{Error, Site};

use super::form::{filled, flows_of, hollow, with_arrays};
use super::functional::{jvp, vjp};
use crate::graph::Var;
use crate::graph::gradients::{self, Scope};
use crate::graph::tape::{self, Call, Flow, Rule};
use crate::misuse;
use crate::trace::{record, region};
use crate::traverse::{Traverse, owned_arrays};

/// Calls a function of which only the argument is kept for differentiation: what lies between is recorded again when
/// gradients flow through it. Saves memory where results between are evaluated, for twice the work.
///
/// The function is called again later, so it must record the same each time.
///
/// ```
/// # use jit_core as jit;
/// use jit::{Float, ad};
///
/// let slope = ad::grad(|x: &Float| ad::checkpoint(|x: &Float| (x.sin() * x).sum(), x));
/// assert_eq!(slope(&Float::from([0.0]))?.item()?, 0.0);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn checkpoint<X, Y>(function: impl Fn(&X) -> Y + Send + Sync + 'static, x: &X) -> Y
where
    X: Traverse + Clone + Send + Sync + 'static,
    Y: Traverse + Clone + Send + Sync + 'static,
{
    let _line = misuse::enter();
    let inputs = owned_arrays(x);
    let mut constants = x.clone();
    with_arrays(&mut constants, inputs.iter().map(record::detached).collect::<Vec<_>>());
    let mut result = {
        let _suspended = Scope::begin(true);
        function(&constants)
    };
    let results = owned_arrays(&result);
    let (input, output) = (hollow(&constants), hollow(&result));
    let rule = || -> Box<dyn Rule> { Box::new(CheckpointRule { function, input, output }) };
    with_arrays(&mut result, tape::attach(&results, inputs, Vec::new(), rule, Site::here()));
    result
}

struct CheckpointRule<F, X, Y> {
    function: F,
    input: X,
    output: Y,
}

impl<F, X: Traverse + Clone, Y: Traverse + Clone> CheckpointRule<F, X, Y> {
    /// Returns the argument; gradients flow through it only if those of the derivative are wanted. In a traced loop
    /// each lane has flows of its own, to what lanes share, too.
    fn argument(&self, call: &Call, flows: &[Option<Var>]) -> X {
        let mut x = self.input.clone();
        let is_final = gradients::is_suspended();
        let is_wide = |flow: &&Var| region::is_open() && flow.width() != 1;
        let lanes = flows.iter().flatten().find(is_wide).map(Var::width);
        let inputs = call.inputs.iter().map(|var| {
            let var = if is_final { record::detached(var) } else { var.clone() };
            match lanes.filter(|_| var.width() == 1) {
                Some(lanes) => record::broadcast(&var, lanes),
                None => var,
            }
        });
        with_arrays(&mut x, inputs.collect::<Vec<_>>());
        x
    }
}

impl<F, X, Y> Rule for CheckpointRule<F, X, Y>
where
    F: Fn(&X) -> Y + Send + Sync + 'static,
    X: Traverse + Clone + Send + Sync + 'static,
    Y: Traverse + Clone + Send + Sync + 'static,
{
    fn name(&self) -> &str {
        "checkpoint"
    }

    #[track_caller]
    fn backward(&self, call: &Call, gradients: &[Option<Var>]) -> Result<Flow, Error> {
        let argument = self.argument(call, gradients);
        let recording = Scope::begin(false);
        let (_, back) = vjp(&self.function, &argument)?;
        drop(recording);
        let found = back(&filled(&self.output, gradients))?;
        Ok(flows_of(&found))
    }

    #[track_caller]
    fn forward(&self, call: &Call, tangents: &[Option<Var>]) -> Result<Flow, Error> {
        let argument = self.argument(call, tangents);
        let like = owned_arrays(&argument);
        let wide = |(flow, like): (&Option<Var>, &Var)| flow.as_ref().map(|flow| record::broadcast(flow, like.width()));
        let tangents: Vec<Option<Var>> = tangents.iter().zip(&like).map(wide).collect();
        let tangent = filled(&hollow(&argument), &tangents);
        let recording = Scope::begin(false);
        let (_, found) = jvp(&self.function, &argument, &tangent)?;
        drop(recording);
        Ok(flows_of(&found))
    }
}
