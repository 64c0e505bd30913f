//! Groups of lanes that are within a row.
//!
//! Programs on grids compute rows and columns from the lane's number, and neighbours from those, in many ways: by
//! remainders, minimum and maximum, comparisons and selection. In most groups of lanes all of that is simple: the row
//! is the same in all lanes, and columns are consecutive. Where a few comparisons of scalars show that, a group uses
//! code in which such values are scalars, and neighbours are read as vectors. The other groups, at the ends of rows and
//! at borders, use the code that is right for all.

use rustc_hash::FxHashSet;

use super::analysis::{Analysis, Shape};
use crate::ir::{BinaryOp, Kernel, Op, ReduceOp, TOP, Type, Value};

/// The facts about a kernel's groups of lanes that are within a row.
pub(super) struct WithinRows {
    pub(super) analysis: Analysis,
    /// The values that have the shape that the analysis says only within a row.
    pub(super) assumed: Vec<Value>,
    /// The positions in the top region of the instructions that compute these values.
    pub(super) slice: FxHashSet<usize>,
}

impl WithinRows {
    /// Analyses a kernel; none if the code within rows would not be better.
    pub(super) fn of(kernel: &Kernel, general: &Analysis, step: usize) -> Option<WithinRows> {
        let top = &kernel.region(TOP).insts;
        let is_plain = |op: &Op| !op.has_regions() && !matches!(op, Op::Reduce { .. });
        if !kernel.locals.is_empty() || !top.iter().all(|inst| is_plain(&inst.op)) {
            return None;
        }
        let (mut analysis, assumed) = Analysis::within_rows(kernel, step);
        // Lanes that share an element are combined in pairs, otherwise in their order: floats would show which.
        let regroups = |op: &Op| match *op {
            Op::Scatter { reduce: Some(ReduceOp::Add | ReduceOp::Mul), index, value, .. } => {
                kernel.ty(value).is_float() && analysis.shape(index).is_scalar() && !general.shape(index).is_scalar()
            }
            _ => false,
        };
        if top.iter().any(|inst| regroups(&inst.op)) {
            return None;
        }
        let is_better = |op: &Op| match *op {
            Op::Gather { index, .. } | Op::Scatter { index, .. } => {
                general.shape(index) == Shape::Varying && analysis.shape(index) != Shape::Varying
            }
            _ => false,
        };
        if !top.iter().any(|inst| is_better(&inst.op)) {
            return None;
        }
        analysis.ranges = general.ranges.clone();
        let slice = slice(kernel, general, &assumed)?;
        Some(WithinRows { analysis, assumed, slice })
    }
}

/// The instructions that compute some values, besides those that run once per launch; none if they read memory.
fn slice(kernel: &Kernel, general: &Analysis, values: &[Value]) -> Option<FxHashSet<usize>> {
    let top = &kernel.region(TOP).insts;
    let mut wanted: FxHashSet<Value> = values.iter().copied().collect();
    let mut slice = FxHashSet::default();
    for (position, inst) in top.iter().enumerate().rev() {
        if general.hoisted[position] || !wanted.contains(&inst.first) {
            continue;
        }
        let is_computed = matches!(
            inst.op,
            Op::LaneIndex
                | Op::Unary(..)
                | Op::Binary(..)
                | Op::Fma(..)
                | Op::Compare(..)
                | Op::Select(..)
                | Op::Cast(..)
                | Op::Bitcast(..)
        );
        if !is_computed {
            return None;
        }
        slice.insert(position);
        inst.op.for_each_operand(|operand| {
            wanted.insert(operand);
        });
    }
    Some(slice)
}

/// The shape of the result of an operation on lanes within a row, if it is not always that; none if it has no simple
/// shape.
pub(super) fn shape(
    kernel: &Kernel,
    op: &Op,
    shape: &impl Fn(Value) -> Shape,
    constants: &[Option<u64>],
    step: u64,
) -> Option<Shape> {
    let is_linear = |value: Value| {
        matches!(shape(value), Shape::Linear { .. }) && matches!(kernel.ty(value), Type::I32 | Type::U32)
    };
    let linear = Some(Shape::Linear { aligned: false });
    // Rows that are shorter than a group contain none.
    let is_long = |length: Value| constants[length.index()].is_none_or(|length| length >= step);
    match *op {
        Op::Binary(op, a, b) if is_linear(a) && shape(b).is_scalar() => match op {
            BinaryOp::Rem if is_long(b) => linear,
            BinaryOp::Div if is_long(b) => Some(Shape::Packet),
            BinaryOp::And if row_of_mask(constants[b.index()]?)? >= step => linear,
            BinaryOp::Shr if row_of_shift(constants[b.index()]?)? >= step => Some(Shape::Packet),
            BinaryOp::Min | BinaryOp::Max => linear,
            _ => None,
        },
        Op::Binary(BinaryOp::Min | BinaryOp::Max, a, b) if shape(a).is_scalar() && is_linear(b) => linear,
        Op::Compare(_, a, b) if is_linear(a) && shape(b).is_scalar() => Some(Shape::Packet),
        Op::Compare(_, a, b) if shape(a).is_scalar() && is_linear(b) => Some(Shape::Packet),
        Op::Cast(to, a) if is_linear(a) && matches!(to, Type::I64 | Type::U64) => linear,
        _ => None,
    }
}

/// The length of the rows in which `x & mask` is the column.
pub(super) fn row_of_mask(mask: u64) -> Option<u64> {
    let length = mask.checked_add(1)?;
    (length.is_power_of_two() && length <= 1 << 31).then_some(length)
}

/// The length of the rows of which `x >> distance` is the number.
pub(super) fn row_of_shift(distance: u64) -> Option<u64> {
    (distance < 31).then(|| 1 << distance)
}
