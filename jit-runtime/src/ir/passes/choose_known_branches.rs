//! Replaces a branch whose target is known by that target: its condition or index is a constant, or it has only one
//! target.

use super::rewrite::{Rewrite, Rewriter, rewrite};
use crate::ir::kernel::{Inst, Kernel, RegionId, Value};
use crate::ir::op::Op;

/// Runs the pass.
pub fn run(kernel: &mut Kernel) {
    if !kernel
        .regions
        .iter()
        .flat_map(|region| &region.insts)
        .any(|inst| matches!(inst.op, Op::If { .. } | Op::Switch { .. }))
    {
        return;
    }
    let mut constants = vec![None; kernel.types.len()];
    for inst in kernel.regions.iter().flat_map(|region| &region.insts) {
        if let Op::Const(_, bits) = inst.op {
            constants[inst.first.index()] = Some(bits);
        }
    }
    let mut pass = ChooseKnownBranches { constants };
    if kernel.regions.iter().flat_map(|region| &region.insts).any(|inst| pass.known_region(&inst.op).is_some()) {
        rewrite(kernel, &mut pass);
    }
}

struct ChooseKnownBranches {
    /// The bits of the old kernel's constants, by value.
    constants: Vec<Option<u64>>,
}

impl ChooseKnownBranches {
    /// The region that always runs.
    fn known_region(&self, op: &Op) -> Option<RegionId> {
        let constant = |value: Value| self.constants[value.index()];
        match *op {
            Op::If { condition, then_region, else_region } => {
                constant(condition).map(|bits| if bits == 0 { else_region } else { then_region })
            }
            Op::Switch { ref cases, default, .. } if cases.is_empty() => Some(default),
            Op::Switch { index, ref cases, default } => {
                constant(index).map(|bits| cases.get(bits as usize).copied().unwrap_or(default))
            }
            _ => None,
        }
    }
}

impl Rewrite for ChooseKnownBranches {
    fn inst(&mut self, to: &mut Rewriter<'_>, inst: &Inst) -> bool {
        let Some(region) = self.known_region(&inst.op) else { return false };
        to.insts(self, region);
        let yields: Vec<Value> = to.old.region(region).yields.iter().map(|&value| to.value(value)).collect();
        inst.values().zip(yields).for_each(|(result, value)| to.define(result, value));
        true
    }
}
