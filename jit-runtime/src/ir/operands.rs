//! The operands of kernel IR operations: the values that they read, the regions that they own, and the memory that they
//! write. Passes and backends walk kernels by these, and no other file lists the operands of operations.

use super::kernel::{Kernel, ParamId, RegionId, Value};
use super::op::Op;

impl Op {
    /// The buffer whose elements the operation reads or writes.
    pub fn buffer(&self) -> Option<ParamId> {
        match *self {
            Op::Load(buffer)
            | Op::Gather { buffer, .. }
            | Op::Store { buffer, .. }
            | Op::Scatter { buffer, .. }
            | Op::Atomic { buffer, .. }
            | Op::CompareExchange { buffer, .. }
            | Op::Reduce { buffer, .. } => Some(buffer),
            _ => None,
        }
    }

    /// Calls a function with each operand, in a fixed order. The values that regions yield are not included.
    pub fn for_each_operand(&self, mut visit: impl FnMut(Value)) {
        match *self {
            Op::Const(..) | Op::LaneIndex | Op::Scalar(_) | Op::Load(_) => {}
            Op::Unary(_, a) | Op::Cast(_, a) | Op::Bitcast(_, a) => visit(a),
            Op::Binary(_, a, b) | Op::Compare(_, a, b) => [a, b].into_iter().for_each(visit),
            Op::Fma(a, b, c) | Op::Select(a, b, c) => [a, b, c].into_iter().for_each(visit),
            Op::Gather { index, mask, .. } => [index].into_iter().chain(mask).for_each(visit),
            Op::Store { value, .. } | Op::Reduce { value, .. } => visit(value),
            Op::Scatter { index, value, mask, .. } | Op::Atomic { index, value, mask, .. } => {
                [index, value].into_iter().chain(mask).for_each(visit)
            }
            Op::CompareExchange { index, expected, value, mask, .. } => {
                [index, expected, value].into_iter().chain(mask).for_each(visit)
            }
            Op::Loop { ref inits, .. } => inits.iter().copied().for_each(visit),
            Op::If { condition, .. } => visit(condition),
            Op::Switch { index, .. } | Op::LocalRead { index, .. } => visit(index),
            Op::LocalWrite { index, value, .. } => [index, value].into_iter().for_each(visit),
        }
    }

    /// Replaces each operand, in the order of [`Op::for_each_operand`].
    pub fn map_operands(&mut self, mut map: impl FnMut(Value) -> Value) {
        let mut each = |value: &mut Value| *value = map(*value);
        match self {
            Op::Const(..) | Op::LaneIndex | Op::Scalar(_) | Op::Load(_) => {}
            Op::Unary(_, a) | Op::Cast(_, a) | Op::Bitcast(_, a) => each(a),
            Op::Binary(_, a, b) | Op::Compare(_, a, b) => [a, b].into_iter().for_each(each),
            Op::Fma(a, b, c) | Op::Select(a, b, c) => [a, b, c].into_iter().for_each(each),
            Op::Gather { index, mask, .. } => [index].into_iter().chain(mask).for_each(each),
            Op::Store { value, .. } | Op::Reduce { value, .. } => each(value),
            Op::Scatter { index, value, mask, .. } | Op::Atomic { index, value, mask, .. } => {
                [index, value].into_iter().chain(mask).for_each(each)
            }
            Op::CompareExchange { index, expected, value, mask, .. } => {
                [index, expected, value].into_iter().chain(mask).for_each(each)
            }
            Op::Loop { inits, .. } => inits.iter_mut().for_each(each),
            Op::If { condition, .. } => each(condition),
            Op::Switch { index, .. } | Op::LocalRead { index, .. } => each(index),
            Op::LocalWrite { index, value, .. } => [index, value].into_iter().for_each(each),
        }
    }

    /// The regions that the operation owns, in the order of the text.
    pub fn regions(&self) -> impl Iterator<Item = RegionId> {
        let (cases, others): (&[RegionId], [Option<RegionId>; 2]) = match self {
            Op::Loop { condition, body, .. } => (&[], [Some(*condition), Some(*body)]),
            Op::If { then_region, else_region, .. } => (&[], [Some(*then_region), Some(*else_region)]),
            Op::Switch { cases, default, .. } => (cases, [Some(*default), None]),
            _ => (&[], [None, None]),
        };
        cases.iter().copied().chain(others.into_iter().flatten())
    }

    /// Whether the operation owns regions.
    #[must_use]
    pub const fn has_regions(&self) -> bool {
        matches!(self, Op::Loop { .. } | Op::If { .. } | Op::Switch { .. })
    }

    /// Whether the operation is defined by an expansion into others.
    #[inline]
    #[must_use]
    pub const fn is_transcendental(&self) -> bool {
        match self {
            Op::Unary(op, _) => op.is_transcendental(),
            Op::Binary(op, ..) => op.is_transcendental(),
            _ => false,
        }
    }

    /// Whether the operation itself writes a buffer; regions that it owns are not considered.
    #[must_use]
    pub const fn writes_memory(&self) -> bool {
        matches!(
            self,
            Op::Store { .. } | Op::Scatter { .. } | Op::Atomic { .. } | Op::CompareExchange { .. } | Op::Reduce { .. }
        )
    }
}

/// Calls a function with each value that an operation or its nested regions read or yield.
pub(crate) fn for_each_nested_operand(kernel: &Kernel, op: &Op, visit: &mut impl FnMut(Value)) {
    op.for_each_operand(&mut *visit);
    for region in op.regions() {
        let region = kernel.region(region);
        region.yields.iter().copied().for_each(&mut *visit);
        region.insts.iter().for_each(|inst| for_each_nested_operand(kernel, &inst.op, visit));
    }
}
