//! Converts small branches without memory accesses and loops to straight-line code with selects.
//!
//! A branch costs a test whether any lane takes each side, and prevents scheduling the sides together with the
//! surrounding code. If both sides together cost less than that, they are computed for all lanes.

use super::rewrite::{Rewrite, Rewriter, rewrite};
use crate::ir::kernel::{Inst, Kernel, RegionId, Value};
use crate::ir::op::{BinaryOp, CompareOp, Op, UnaryOp};
use crate::ir::types::Type;

/// The highest cost of both sides together: about a mispredicted branch, in simple operations.
const BUDGET: u32 = 16;

/// Runs the pass.
pub fn run(kernel: &mut Kernel) {
    if kernel.regions.iter().flat_map(|region| &region.insts).any(|inst| is_cheap_branch(kernel, inst)) {
        rewrite(kernel, &mut FlattenBranches);
    }
}

fn is_cheap_branch(kernel: &Kernel, inst: &Inst) -> bool {
    matches!(inst.op, Op::If { .. } | Op::Switch { .. }) && cost(kernel, inst).is_some_and(|cost| cost <= BUDGET)
}

/// The cost of an instruction in simple operations; none if it must not run for inactive lanes.
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
        | Op::LocalRead { .. }
        | Op::LocalWrite { .. }
        | Op::Loop { .. } => None,
        Op::If { then_region, else_region, .. } => {
            let sides = region_cost(kernel, then_region)? + region_cost(kernel, else_region)?;
            Some(sides + inst.results)
        }
        Op::Switch { ref cases, .. } => {
            let regions: u32 = inst.op.regions().map(|region| region_cost(kernel, region)).sum::<Option<u32>>()?;
            Some(regions + cases.len() as u32 * (1 + inst.results))
        }
    }
}

fn region_cost(kernel: &Kernel, region: RegionId) -> Option<u32> {
    kernel.region(region).insts.iter().map(|inst| cost(kernel, inst)).sum()
}

/// The yields of a region of the old kernel whose instructions have been written already.
fn yields(to: &Rewriter<'_>, region: RegionId) -> Vec<Value> {
    to.old.region(region).yields.iter().map(|&value| to.value(value)).collect()
}

/// The results are the region's yields where it is chosen, otherwise the other values.
fn select(to: &mut Rewriter<'_>, inst: &Inst, is_chosen: Value, region: RegionId, others: Vec<Value>) {
    let chosen = yields(to, region);
    for ((result, a), b) in inst.values().zip(chosen).zip(others) {
        let value = if a == b { a } else { to.new.select(is_chosen, a, b) };
        to.define(result, value);
    }
}

struct FlattenBranches;

impl Rewrite for FlattenBranches {
    fn inst(&mut self, to: &mut Rewriter<'_>, inst: &Inst) -> bool {
        if !is_cheap_branch(to.old, inst) {
            return false;
        }
        inst.op.regions().for_each(|region| to.insts(self, region));
        match inst.op {
            Op::If { condition, then_region, else_region } => {
                let condition = to.value(condition);
                let others = yields(to, else_region);
                select(to, inst, condition, then_region, others);
            }
            Op::Switch { index, ref cases, default } => {
                let index = to.value(index);
                yields(to, default).into_iter().zip(inst.values()).for_each(|(value, result)| to.define(result, value));
                for (position, &case) in cases.iter().enumerate() {
                    let position = to.new.constant(Type::U32, position as u64);
                    let is_chosen = to.new.compare(CompareOp::Eq, index, position);
                    let others = inst.values().map(|result| to.value(result)).collect();
                    select(to, inst, is_chosen, case, others);
                }
            }
            _ => unreachable!("only branches are cheap ones"),
        }
        true
    }
}
