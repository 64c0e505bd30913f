//! Functions that are computed again for their derivative.

use jit_runtime::{Error, Site};

use super::form::{filled, hollow, with_arrays};
use super::functional::called_with;
use super::vertex::{Source, Value, Vertex, carries, order_to};
use crate::graph::Var;
use crate::graph::gradients::{self, Scope};
use crate::graph::payload::RegionId;
use crate::graph::tape::{self, Call, Flow, Rule, Tape};
use crate::misuse::{self, Misuse};
use crate::trace::{record, region};
use crate::traverse::{Traverse, owned_arrays};

/// Calls a function of which only the argument is kept for differentiation: what lies between is recorded again when
/// gradients flow through it. Saves memory where results between are evaluated, for twice the work.
///
/// The function is called again later, so it must record the same each time. Gradients flow to its argument, and to the
/// variables behind arrays that it captures.
///
/// ```
/// # use jit_core as jit;
/// use jit::{Float, ad};
///
/// let slope = ad::grad(|x: &Float| ad::checkpoint(|x: &Float| (x.sin() * x).sum(), x));
/// assert_eq!(slope(&Float::from([0.0]))?.item()?, 0.0);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
///
/// # Panics
///
/// In a traced loop, when the function captures an array that carries gradients: it is part of the argument there.
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
    let mut result = function(&constants);
    let mut results = owned_arrays(&result);
    let captured = captured(&results);
    if !captured.is_empty() {
        results = results.iter().map(record::detached).collect();
    }
    let (input, output, arguments) = (hollow(&constants), hollow(&result), inputs.len());
    let rule = || -> Box<dyn Rule> { Box::new(CheckpointRule { function, input, output, arguments }) };
    let inputs = inputs.into_iter().chain(captured).collect();
    with_arrays(&mut result, tape::attach(&results, inputs, Vec::new(), rule, Site::here()));
    result
}

/// Returns what the results of a function carry gradients to although its argument is a constant: variables, and
/// arguments of functions that are differentiated, behind the arrays that it captures.
#[track_caller]
fn captured(results: &[Var]) -> Vec<Var> {
    if gradients::is_suspended() || !results.iter().any(carries) {
        return Vec::new();
    }
    if region::innermost_loop() != RegionId::NONE {
        let what = "a checkpoint in a traced loop captures an array that carries gradients";
        Misuse::new(what, Site::here()).hint("pass the array to the function as a part of its argument").panic();
    }
    let is_end = |var: &Var| matches!(tape::of(var), Some(Tape::Variable | Tape::Argument(_)));
    // What has no derivative is an error when gradients flow.
    let vertices = order_to(results, &is_end).unwrap_or_default();
    let end = |vertex: Vertex| match vertex {
        Vertex::Value(Value { var, source: Source::Variable | Source::Argument(..) }) => Some(var),
        _ => None,
    };
    vertices.into_iter().filter_map(end).collect()
}

struct CheckpointRule<F, X, Y> {
    function: F,
    input: X,
    output: Y,
    /// The number of inputs that are arrays of the argument; others are behind arrays that the function captures.
    arguments: usize,
}

impl<F, X: Traverse + Clone, Y: Traverse + Clone> CheckpointRule<F, X, Y> {
    /// Returns the argument; gradients flow through it only if those of the derivative are wanted. In a traced loop
    /// each lane has flows of its own, to what lanes share, too.
    fn argument(&self, call: &Call, flows: &[Option<Var>]) -> X {
        let mut x = self.input.clone();
        let is_final = gradients::is_suspended();
        let is_wide = |flow: &&Var| region::is_open() && flow.width() != 1;
        let lanes = flows.iter().flatten().find(is_wide).map(Var::width);
        let inputs = call.inputs[..self.arguments].iter().map(|var| {
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
        let (_, called) = called_with(&self.function, &argument, &call.inputs[self.arguments..])?;
        drop(recording);
        let seeds = owned_arrays(&filled(&self.output, gradients));
        called.check_seeds(&seeds, call.site)?;
        Ok(floats(called.pull_back(&seeds)?))
    }

    #[track_caller]
    fn forward(&self, call: &Call, tangents: &[Option<Var>]) -> Result<Flow, Error> {
        let argument = self.argument(call, tangents);
        let captured = &call.inputs[self.arguments..];
        let seed = |(flow, like): (&Option<Var>, &Var)| match flow {
            Some(flow) => record::broadcast(flow, like.width()),
            None => record::literal(like.ty(), 0, like.width()),
        };
        let seeds: Vec<Var> = tangents.iter().zip(owned_arrays(&argument).iter().chain(captured)).map(seed).collect();
        let recording = Scope::begin(false);
        let (_, called) = called_with(&self.function, &argument, captured)?;
        drop(recording);
        Ok(floats(called.push_forward(&seeds)?))
    }
}

/// Returns flows with none for what is no float.
fn floats(flows: Vec<Var>) -> Flow {
    flows.into_iter().map(|var| Some(var).filter(|var| var.ty().is_float())).collect()
}
