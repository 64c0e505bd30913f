//! A value whose gradients are those of another one.

use jit_runtime::{Error, Site};
use smallvec::smallvec;

use crate::graph::Var;
use crate::graph::tape::{self, Call, Flow, Rule};

/// Gradients pass unchanged.
struct PassRule;

impl Rule for PassRule {
    fn name(&self) -> &str {
        "replace_grad"
    }

    fn backward(&self, _call: &Call, gradients: &[Option<Var>]) -> Result<Flow, Error> {
        Ok(smallvec![gradients[0].clone()])
    }

    fn forward(&self, _call: &Call, tangents: &[Option<Var>]) -> Result<Flow, Error> {
        Ok(smallvec![tangents[0].clone()])
    }
}

/// Returns a value through which gradients flow to another one.
#[track_caller]
pub(super) fn replaced(value: &Var, other: &Var) -> Var {
    tape::attach_one(value.clone(), vec![other.clone()], || Box::new(PassRule), Site::here())
}
