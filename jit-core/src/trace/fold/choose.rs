//! Rules for comparisons and selections.

use jit_runtime::ir::{BinaryOp, CompareOp, Type, UnaryOp, scalar};

use super::{Constant, fit, literal, operand_of};
use crate::graph::node::Var;
use crate::size::Size;
use crate::trace::record;
use crate::trace::unaffected::unaffected;

/// Returns the value of a comparison, if it folds.
#[inline]
#[track_caller]
pub(crate) fn compare(op: CompareOp, a: &Var, b: &Var, width: Size) -> Option<Var> {
    match (Constant::of(a), Constant::of(b)) {
        (Some(x), Some(y)) => literal(Type::Bool, u64::from(scalar::compare(op, x.ty, x.bits, y.bits)), width),
        (None, Some(y)) => with_constant(op, a, y, width),
        (Some(x), None) => with_constant(op.mirrored(), b, x, width),
        (None, None) if a.is_same(b) => with_itself(op, a, width),
        (None, None) => None,
    }
}

#[track_caller]
fn with_itself(op: CompareOp, a: &Var, width: Size) -> Option<Var> {
    match op {
        CompareOp::Lt | CompareOp::Gt => literal(Type::Bool, 0, width),
        // A NaN differs from itself.
        _ if a.ty().is_float() => None,
        CompareOp::Eq | CompareOp::Le | CompareOp::Ge => literal(Type::Bool, 1, width),
        CompareOp::Ne => literal(Type::Bool, 0, width),
    }
}

/// Folds a comparison with a constant on the right.
#[track_caller]
fn with_constant(op: CompareOp, a: &Var, b: Constant, width: Size) -> Option<Var> {
    if a.ty() == Type::Bool {
        return match (op, b.bits == 1) {
            (CompareOp::Eq, true) | (CompareOp::Ne, false) => fit(a, width),
            (CompareOp::Eq, false) | (CompareOp::Ne, true) => fit(&record::not(a), width),
            _ => None,
        };
    }
    if a.ty().is_unsigned_integer() && b.bits == 0 {
        return match op {
            CompareOp::Lt => literal(Type::Bool, 0, width),
            CompareOp::Ge => literal(Type::Bool, 1, width),
            _ => None,
        };
    }
    None
}

/// Returns the value of a selection, if it folds.
#[inline]
#[track_caller]
pub(crate) fn select(mask: &Var, a: &Var, b: &Var, width: Size) -> Option<Var> {
    if let Some(bits) = mask.literal() {
        let (chosen, other) = if bits == 1 { (a, b) } else { (b, a) };
        return Some(unaffected(record::broadcast(chosen, width), [other]));
    }
    if a.is_same(b) {
        return fit(a, width);
    }
    if let Some(condition) = operand_of(UnaryOp::Not, mask) {
        return fit(&record::select(&condition, b, a), width);
    }
    match (Constant::of(a), Constant::of(b)) {
        (Some(x), Some(y)) if x.bits == y.bits => literal(x.ty, x.bits, width),
        _ if a.ty() == Type::Bool => of_masks(mask, a, b, width),
        _ => None,
    }
}

/// Folds selections of masks to logic.
#[track_caller]
fn of_masks(mask: &Var, a: &Var, b: &Var, width: Size) -> Option<Var> {
    let logic = match (a.literal(), b.literal()) {
        (Some(1), Some(0)) => mask.clone(),
        (Some(0), Some(1)) => record::not(mask),
        (Some(1), None) => record::binary(BinaryOp::Or, mask, b),
        (None, Some(0)) => record::binary(BinaryOp::And, mask, a),
        (Some(0), None) => record::binary(BinaryOp::And, &record::not(mask), b),
        (None, Some(1)) => record::binary(BinaryOp::Or, &record::not(mask), a),
        _ => return None,
    };
    fit(&logic, width)
}
