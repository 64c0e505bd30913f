//! How many operations of a straight-line kernel do not wait for one another.
//!
//! A processor has several operations of a few cycles each under way. A list in which each operation needs the result
//! of the one before leaves most of that unused, unless the processor finds the next packet, which is beyond its
//! window for lists of some hundred operations. Code for several packets at once has it next to each operation.

use super::analysis::{Analysis, Shape, for_each_nested_operand};
use crate::ir::{Inst, Kernel, Op, TOP};

/// The work of all operations of the top region on lanes, divided by that of the longest chain of them.
pub(super) fn average(kernel: &Kernel, analysis: &Analysis) -> f64 {
    let mut ends = vec![0_u64; kernel.types.len()];
    let (mut work, mut longest) = (0, 0);
    for inst in kernel.region(TOP).insts.iter().filter(|inst| is_by_lane(inst, analysis)) {
        let mut begin = 0;
        for_each_nested_operand(kernel, &inst.op, &mut |value| begin = begin.max(ends[value.index()]));
        let cost = cost(&inst.op);
        inst.values().for_each(|value| ends[value.index()] = begin + cost);
        (work, longest) = (work + cost, longest.max(begin + cost));
    }
    work as f64 / longest.max(1) as f64
}

/// Whether each packet executes the instruction with a vector.
fn is_by_lane(inst: &Inst, analysis: &Analysis) -> bool {
    inst.results == 0 || inst.values().any(|value| analysis.shape(value) == Shape::Varying)
}

/// A rough measure of time, in units of an addition. Memory is not waited for: processors read ahead.
fn cost(op: &Op) -> u64 {
    match *op {
        Op::Load(_) | Op::Store { .. } | Op::Gather { .. } | Op::Scatter { .. } => 0,
        Op::Unary(op, _) => op.cost().into(),
        Op::Binary(op, ..) => op.cost().into(),
        _ => 1,
    }
}
