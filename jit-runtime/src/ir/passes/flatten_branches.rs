//! Small branches without memory accesses and loops become straight lines with selects.
//!
//! A branch costs a test whether any lane takes each side, and keeps the sides from being scheduled with what is
//! around them. Where both sides together cost less than that, they are computed for all lanes.

use super::rewrite::{Rewrite, Rewriter, rewrite};
use crate::ir::kernel::{Inst, Kernel, RegionId};
use crate::ir::op::{BinaryOp, Op, UnaryOp};

/// What both sides together may cost: about a mispredicted branch, in simple operations.
const BUDGET: u32 = 16;

/// Runs the pass.
pub fn run(kernel: &mut Kernel) {
    if kernel.regions.iter().flat_map(|region| &region.insts).any(|inst| is_cheap_branch(kernel, inst)) {
        rewrite(kernel, &mut FlattenBranches);
    }
}

fn is_cheap_branch(kernel: &Kernel, inst: &Inst) -> bool {
    matches!(inst.op, Op::If { .. }) && cost(kernel, inst).is_some_and(|cost| cost <= BUDGET)
}

/// What an instruction costs in simple operations; none where it must not run for lanes that are off.
fn cost(kernel: &Kernel, inst: &Inst) -> Option<u32> {
    match inst.op {
        Op::Const(..) | Op::LaneIndex | Op::Scalar(_) | Op::Bitcast(..) => Some(0),
        ref op if op.is_transcendental() => None,
        Op::Unary(UnaryOp::Sqrt, _) | Op::Binary(BinaryOp::Div | BinaryOp::Rem | BinaryOp::MulHi, ..) => Some(8),
        Op::Unary(..) | Op::Binary(..) | Op::Fma(..) | Op::Compare(..) | Op::Select(..) | Op::Cast(..) => Some(1),
        Op::Load(_)
        | Op::Gather { .. }
        | Op::Store { .. }
        | Op::Scatter { .. }
        | Op::Atomic { .. }
        | Op::CompareExchange { .. }
        | Op::Reduce { .. }
        | Op::Loop { .. } => None,
        Op::If { then_region, else_region, .. } => {
            let sides = region_cost(kernel, then_region)? + region_cost(kernel, else_region)?;
            Some(sides + inst.results)
        }
    }
}

fn region_cost(kernel: &Kernel, region: RegionId) -> Option<u32> {
    kernel.region(region).insts.iter().map(|inst| cost(kernel, inst)).sum()
}

struct FlattenBranches;

impl Rewrite for FlattenBranches {
    fn inst(&mut self, to: &mut Rewriter<'_>, inst: &Inst) -> bool {
        if !is_cheap_branch(to.old, inst) {
            return false;
        }
        let Op::If { condition, then_region, else_region } = inst.op else { return false };
        to.insts(self, then_region);
        to.insts(self, else_region);
        let condition = to.value(condition);
        let old = to.old;
        let pairs = old.region(then_region).yields.iter().zip(&old.region(else_region).yields);
        for (result, (&a, &b)) in inst.values().zip(pairs) {
            let (a, b) = (to.value(a), to.value(b));
            let value = if a == b { a } else { to.new.select(condition, a, b) };
            to.define(result, value);
        }
        true
    }
}
