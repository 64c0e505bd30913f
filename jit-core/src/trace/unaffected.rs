//! Results that folded to constants although the program computes them from variables.
//!
//! `x.powi(0)`, the sum of a filter that no element passes, or a gather whose mask is false do not change where `x`
//! does. A program cannot always know that beforehand, so it may differentiate them: their gradients are zero, and
//! only a value that the program computes from no variable is one that gradients do not flow from.

use jit_runtime::{Error, Site};
use smallvec::smallvec;

use super::local;
use crate::graph::Var;
use crate::graph::node::flag;
use crate::graph::tape::{self, Call, Flow, Rule};

/// Returns a value that some others do not affect, though it is computed from them: if one of them carries gradients,
/// so does the value, and they are zero.
#[inline]
#[track_caller]
pub(crate) fn unaffected<'a>(value: Var, by: impl IntoIterator<Item = &'a Var>) -> Var {
    if value.flags() & flag::GRAD != 0 || !value.ty().is_float() {
        return value;
    }
    let by: Vec<Var> = by.into_iter().filter(|var| var.flags() & flag::GRAD != 0).cloned().collect();
    if by.is_empty() { value } else { attach(value, by) }
}

#[cold]
#[track_caller]
fn attach(value: Var, by: Vec<Var>) -> Var {
    // A local memory is not a value of lanes, which gradients could flow to.
    if by.iter().any(local::is_local) {
        return value;
    }
    tape::attach_one(value, by, || Box::new(UnaffectedRule), Site::here())
}

/// Nothing flows.
struct UnaffectedRule;

impl Rule for UnaffectedRule {
    fn name(&self) -> &str {
        "a constant"
    }

    fn backward(&self, call: &Call, _gradients: &[Option<Var>]) -> Result<Flow, Error> {
        Ok(call.inputs.iter().map(|_| None).collect())
    }

    fn forward(&self, _call: &Call, _tangents: &[Option<Var>]) -> Result<Flow, Error> {
        Ok(smallvec![None])
    }
}
