//! Rules for operations on one value.

use jit_runtime::ir::{CompareOp, UnaryOp, scalar};

use super::{fit, literal, operand_of};
use crate::graph::node::Var;
use crate::graph::op::Op;
use crate::trace::record;

/// Returns the value of a unary operation, if it folds.
#[inline]
#[track_caller]
pub(crate) fn unary(op: UnaryOp, a: &Var) -> Option<Var> {
    if let Some(bits) = a.literal() {
        if !scalar::is_supported_unary(op, a.ty()) {
            return None;
        }
        return literal(a.ty(), scalar::unary(op, a.ty(), bits), a.width());
    }
    match op {
        UnaryOp::Neg => operand_of(UnaryOp::Neg, a),
        UnaryOp::Not => operand_of(UnaryOp::Not, a).or_else(|| negated_comparison(a)),
        UnaryOp::Abs if a.ty().is_unsigned_integer() => fit(a, a.width()),
        UnaryOp::Abs => absolute(a),
        UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Trunc => is_integral(a).then(|| a.clone()),
        _ => None,
    }
}

/// Folds `!(a == b)`, and comparisons of totally ordered values.
#[track_caller]
fn negated_comparison(a: &Var) -> Option<Var> {
    let Op::Compare(op) = a.op() else { return None };
    let (left, right) = (a.operand(0)?, a.operand(1)?);
    match op {
        CompareOp::Eq => Some(record::compare(CompareOp::Ne, &left, &right)),
        CompareOp::Ne => Some(record::compare(CompareOp::Eq, &left, &right)),
        // `!(a < b)` is true for NaN, `a >= b` is not.
        _ if left.ty().is_float() => None,
        CompareOp::Lt => Some(record::compare(CompareOp::Le, &right, &left)),
        CompareOp::Le => Some(record::compare(CompareOp::Lt, &right, &left)),
        CompareOp::Gt | CompareOp::Ge => None,
    }
}

#[track_caller]
fn absolute(a: &Var) -> Option<Var> {
    match a.op() {
        Op::Unary(UnaryOp::Abs) => fit(a, a.width()),
        Op::Unary(UnaryOp::Neg) => Some(record::unary(UnaryOp::Abs, &a.operand(0)?)),
        _ => None,
    }
}

fn is_integral(a: &Var) -> bool {
    matches!(a.op(), Op::Unary(UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Trunc))
}
