//! The product of a gradient and a derivative that is zero where the gradient is, differentiated again: as a product.

use jit_runtime::{Error, Site};
use smallvec::smallvec;

use super::weight::{add, scaled};
use crate::graph::Var;
use crate::graph::tape::{self, Call, Flow, Rule};

/// The derivative of the product: its selection of zeros is no branch.
pub(super) struct ScaledRule;

impl ScaledRule {
    /// Gives a product this derivative.
    #[track_caller]
    pub(super) fn attach(value: Var, gradient: &Var, factor: &Var) -> Var {
        tape::attach_one(value, vec![gradient.clone(), factor.clone()], || Box::new(ScaledRule), Site::here())
    }
}

impl Rule for ScaledRule {
    fn name(&self) -> &str {
        "product"
    }

    fn is_by_lane(&self) -> bool {
        true
    }

    fn backward(&self, call: &Call, gradients: &[Option<Var>]) -> Result<Flow, Error> {
        let Some(gradient) = &gradients[0] else { return Ok(smallvec![None, None]) };
        let [a, b] = [&call.inputs[0], &call.inputs[1]];
        Ok(smallvec![Some(scaled(gradient, b)), Some(scaled(gradient, a))])
    }

    fn forward(&self, call: &Call, tangents: &[Option<Var>]) -> Result<Flow, Error> {
        let [a, b] = [&call.inputs[0], &call.inputs[1]];
        let parts =
            [tangents[0].as_ref().map(|tangent| scaled(tangent, b)), tangents[1].as_ref().map(|t| scaled(t, a))];
        Ok(smallvec![parts.into_iter().flatten().reduce(|sum, part| add(&sum, &part))])
    }
}
