//! The product of a gradient and a derivative that is zero where the gradient is, differentiated again: as a product.
//!
//! Such a product that is added to other flows is one operation with the addition, rounded once.

use std::any::Any;

use jit_runtime::ir::{BinaryOp, CompareOp};
use jit_runtime::{Error, Site};
use smallvec::smallvec;

use super::vertex::{carries, key_of};
use super::weight::{add, compare, mul, number, scaled, value_of};
use crate::graph::Var;
use crate::graph::op::Op;
use crate::graph::tape::{self, Call, Flow, Rule, Tape};
use crate::trace::record;

/// The derivative of the product, or of a sum to which it was added: its selection of zeros is no branch. The inputs
/// are the factors, and the sum before.
pub(super) struct ScaledRule;

impl ScaledRule {
    /// Gives a product this derivative.
    #[track_caller]
    pub(super) fn attach(value: Var, gradient: &Var, factor: &Var) -> Var {
        tape::attach_one(value, vec![gradient.clone(), factor.clone()], || Box::new(ScaledRule), Site::here())
    }

    /// Records the sum if the flow is such a product: the sum before where the gradient is zero, `a * b + sum`
    /// elsewhere.
    #[track_caller]
    pub(super) fn add(sum: &Var, flow: &Var) -> Option<Var> {
        let Product { is_zero, factors: [a, b] } = Product::of(flow)?;
        let value = record::select(&is_zero, sum, &record::fma(&a, &b, sum));
        Some(tape::attach_one(value, vec![a, b, sum.clone()], || Box::new(ScaledRule), Site::here()))
    }
}

impl Rule for ScaledRule {
    fn name(&self) -> &str {
        "product"
    }

    fn backward(&self, call: &Call, gradients: &[Option<Var>]) -> Result<Flow, Error> {
        let (a, b) = (&call.inputs[0], &call.inputs[1]);
        let Some(gradient) = &gradients[0] else { return Ok(smallvec![None; call.inputs.len()]) };
        let factors = [Some(scaled(gradient, b)), Some(scaled(gradient, a))];
        Ok(factors.into_iter().chain(call.inputs[2..].iter().map(|_| Some(gradient.clone()))).collect())
    }

    fn forward(&self, call: &Call, tangents: &[Option<Var>]) -> Result<Flow, Error> {
        let (a, b) = (&call.inputs[0], &call.inputs[1]);
        let of_gradient = tangents[0].as_ref().map(|tangent| scaled(tangent, b));
        let of_factor = tangents[1].as_ref().map(|tangent| scaled_if_both(tangent, a));
        let sum = tangents[2..].iter().flatten().cloned();
        Ok(smallvec![of_gradient.into_iter().chain(of_factor).chain(sum).reduce(|sum, part| add(&sum, &part))])
    }
}

/// Returns the product of the tangent of a factor and the gradient that was multiplied by it, zero where either is.
/// What was masked out on the way back stays zero, though the tangent there may be infinite or NaN.
#[track_caller]
fn scaled_if_both(tangent: &Var, gradient: &Var) -> Var {
    if gradient.literal().is_some_and(|bits| value_of(gradient.ty(), bits) != 0.0) {
        return scaled(tangent, gradient);
    }
    let zero = number(gradient.ty(), 0.0);
    let passed = record::select(&compare(CompareOp::Eq, gradient, &zero), &zero, tangent);
    let value = record::select(&compare(CompareOp::Eq, &passed, &zero), &zero, &mul(&passed, gradient));
    // The derivative is that of the product of what was not masked, so that it is exact where the gradient is zero.
    ScaledRule::attach(value, tangent, gradient)
}

/// What [`scaled`] has recorded.
struct Product {
    /// Where the gradient is zero.
    is_zero: Var,
    factors: [Var; 2],
}

impl Product {
    fn of(flow: &Var) -> Option<Product> {
        if !carries(flow) {
            return Product::of_selection(flow);
        }
        // Other values that carry gradients, such as variables, have derivatives of their own.
        let Some(Tape::Result { call, .. }) = tape::of(flow) else { return None };
        let rule: &dyn Any = &*call.rule;
        let [gradient, factor] = &call.inputs[..] else { return None };
        if !rule.is::<ScaledRule>() {
            return None;
        }
        let [gradient, factor] = [gradient, factor].map(Var::clone);
        Some(Product { factors: [gradient, factor], ..Product::of_selection(&flow.operand(0)?)? })
    }

    fn of_selection(value: &Var) -> Option<Product> {
        if value.op() != Op::Select {
            return None;
        }
        let [is_zero, zero, product] = [value.operand(0)?, value.operand(1)?, value.operand(2)?];
        if is_zero.op() != Op::Compare(CompareOp::Eq) || zero.literal() != Some(0) || !is_product(&product) {
            return None;
        }
        let factors = [product.operand(0)?, product.operand(1)?];
        let [gradient, other] = [is_zero.operand(0)?, is_zero.operand(1)?];
        let is_guard = other.literal() == Some(0) && factors.iter().any(|factor| key_of(factor) == key_of(&gradient));
        is_guard.then_some(Product { is_zero, factors })
    }
}

fn is_product(value: &Var) -> bool {
    value.op() == Op::Binary(BinaryOp::Mul)
}
