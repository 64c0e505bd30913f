//! Groups of lanes that are within a row.
//!
//! Programs on grids compute rows and columns from the lane's number, and neighbours from those, in many ways: by
//! remainders, minimum and maximum, comparisons and selection. In most groups of lanes all of that is simple: the row
//! is the same in all lanes, and columns are consecutive. Where a few comparisons of scalars show that, a group uses
//! code in which such values are scalars, and neighbours are read as vectors. The other groups, at the ends of rows and
//! at borders, are divided into packets, most of which are within a row, and these into parts. What is left uses the
//! code that is right for all lanes.

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
    /// Whether lanes can be computed in parts: none sees what another one wrote, or is combined with it.
    pub(super) has_parts: bool,
    /// The packets of a group across rows, most of which are within one; none if a group is a packet.
    pub(super) packets: Option<Box<PacketsWithinRows>>,
}

/// The facts about a kernel's packets, each by itself, where groups have several.
pub(super) struct PacketsWithinRows {
    pub(super) general: Analysis,
    pub(super) rows: WithinRows,
}

impl WithinRows {
    /// Analyses a kernel; none if the code within rows would not be better.
    pub(super) fn of(kernel: &Kernel, general: &Analysis, step: usize) -> Option<WithinRows> {
        let top = &kernel.region(TOP).insts;
        let is_plain = |op: &Op| !op.has_regions() && !matches!(op, Op::Reduce { .. });
        if !kernel.locals.is_empty() || !top.iter().all(|inst| is_plain(&inst.op)) {
            return None;
        }
        let (mut analysis, assumed) = Analysis::within_rows(kernel, step, general.lanes);
        if assumed.is_empty() || regroups(kernel, general, &analysis) {
            return None;
        }
        let is_better = |op: &Op| match *op {
            Op::Gather { buffer, index, .. }
                if general.repeats_elements(kernel, buffer, index) || general.near_rows[index.index()].is_some() =>
            {
                false
            }
            Op::Gather { buffer, index, .. } if analysis.is_easily_gathered(kernel, buffer, index) => {
                !general.is_easily_gathered(kernel, buffer, index)
            }
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
        let is_apart = |op: &Op| matches!(op, Op::Store { .. }) || !op.writes_memory();
        let has_parts = top.iter().all(|inst| is_apart(&inst.op));
        Some(WithinRows { analysis, assumed, slice, has_parts, packets: None })
    }

    /// Analyses a kernel whose groups are some packets of so many lanes.
    pub(super) fn of_packets(kernel: &Kernel, general: &Analysis, packets: usize, lanes: usize) -> Option<WithinRows> {
        let mut rows = WithinRows::of(kernel, general, packets * lanes)?;
        if packets > 1 {
            rows.packets = PacketsWithinRows::of(kernel, general, lanes).map(Box::new);
        }
        Some(rows)
    }
}

impl PacketsWithinRows {
    fn of(kernel: &Kernel, of_groups: &Analysis, lanes: usize) -> Option<PacketsWithinRows> {
        let mut general = Analysis::new(kernel, lanes);
        // What is in range is found out once for all bodies, and so is what they share.
        general.ranges = of_groups.ranges.clone();
        let rows = WithinRows::of(kernel, &general, lanes)?;
        let is_same = general.hoisted == of_groups.hoisted && !regroups(kernel, of_groups, &general);
        is_same.then_some(PacketsWithinRows { general, rows })
    }
}

/// Whether code for other groups would add floats in another order: lanes that share an element are combined in pairs,
/// others in their order.
fn regroups(kernel: &Kernel, general: &Analysis, other: &Analysis) -> bool {
    kernel.region(TOP).insts.iter().any(|inst| match inst.op {
        Op::Scatter { reduce: Some(ReduceOp::Add | ReduceOp::Mul), index, value, .. } => {
            kernel.ty(value).is_float() && other.shape(index).is_scalar() && !general.shape(index).is_scalar()
        }
        _ => false,
    })
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
