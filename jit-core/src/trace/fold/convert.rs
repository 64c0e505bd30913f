//! Rules for conversions.

use jit_runtime::ir::{Type, scalar};

use super::{fit, literal};
use crate::graph::node::Var;
use crate::graph::op::Op;
use crate::trace::record;

/// Returns the value of a conversion, if it folds.
#[inline]
#[track_caller]
pub(crate) fn cast(ty: Type, a: &Var) -> Option<Var> {
    if a.ty() == ty {
        return fit(a, a.width());
    }
    literal(ty, scalar::cast(a.ty(), ty, a.literal()?), a.width())
}

/// Returns the value of a change of type, if it folds.
#[inline]
#[track_caller]
pub(crate) fn bitcast(ty: Type, a: &Var) -> Option<Var> {
    if a.ty() == ty {
        return fit(a, a.width());
    }
    if a.op() == Op::Bitcast {
        return Some(record::bitcast(ty, &a.operand(0)?));
    }
    literal(ty, a.literal()?, a.width())
}
