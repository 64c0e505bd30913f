//! The derivative of values that were computed on some of their lanes.
//!
//! Gradients flow to the value on all lanes, which is computed on these only if its derivative needs it.

use jit_runtime::ir::ReduceOp;
use jit_runtime::{Error, Site};
use smallvec::smallvec;

use crate::graph::Var;
use crate::graph::payload::How;
use crate::graph::tape::{self, Call, Flow, Rule};
use crate::trace::scatter::{self, Request};
use crate::trace::{gather, record};

/// Lets gradients flow from the elements of a value on some lanes, if they flow through the value.
#[track_caller]
pub(super) fn attach(elements: Var, value: &Var, lanes: &Var) -> Var {
    let is_whole = elements.lanes() == value.lanes();
    let rule = || -> Box<dyn Rule> { Box::new(SelectedRule { is_whole }) };
    let call = tape::attach(&[elements], vec![value.clone()], vec![lanes.clone()], rule, Site::here());
    call.into_iter().next().expect("each result has a node")
}

/// The result has the elements of the input on the lanes that are saved.
struct SelectedRule {
    /// The value is not as wide as the lanes: the result has all elements.
    is_whole: bool,
}

impl Rule for SelectedRule {
    fn name(&self) -> &str {
        "lanes of an evaluated loop or sorted call"
    }

    #[track_caller]
    fn backward(&self, call: &Call, gradients: &[Option<Var>]) -> Result<Flow, Error> {
        let (value, lanes) = (&call.inputs[0], &call.saved[0]);
        let Some(gradient) = gradients[0].as_ref().filter(|_| !self.is_whole) else {
            return Ok(smallvec![gradients[0].clone()]);
        };
        let mut flow = record::literal(value.ty(), 0, value.width());
        let how = How::Reduce(ReduceOp::Add);
        let request = Request { how, index: lanes, value: gradient, expected: None, mask: None };
        scatter::scatter(&mut flow, &request);
        Ok(smallvec![Some(flow)])
    }

    #[track_caller]
    fn forward(&self, call: &Call, tangents: &[Option<Var>]) -> Result<Flow, Error> {
        let (value, lanes) = (&call.inputs[0], &call.saved[0]);
        let Some(tangent) = tangents[0].as_ref().filter(|_| !self.is_whole) else {
            return Ok(smallvec![tangents[0].clone()]);
        };
        let tangent = record::broadcast(tangent, value.width());
        Ok(smallvec![Some(gather::gather(&tangent, lanes, None))])
    }
}
