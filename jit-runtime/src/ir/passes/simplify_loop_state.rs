//! Replaces loop state that no iteration changes by its initial value.
//!
//! Uniform and constant values then remain so inside the loop, and need not be carried.

use super::rewrite::{Rewrite, Rewriter, rewrite};
use crate::ir::kernel::{Inst, Kernel, RegionId, Value};
use crate::ir::op::Op;

/// Runs the pass.
pub fn run(kernel: &mut Kernel) {
    let has_constant_state = |inst: &Inst| match inst.op {
        Op::Loop { condition, body, .. } => constant_state(kernel, condition, body).any(|is_constant| is_constant),
        _ => false,
    };
    if kernel.regions.iter().flat_map(|region| &region.insts).any(has_constant_state) {
        rewrite(kernel, &mut SimplifyLoopState);
    }
}

/// For each state variable of a loop, whether the body yields it unchanged.
fn constant_state(kernel: &Kernel, condition: RegionId, body: RegionId) -> impl Iterator<Item = bool> {
    kernel.region(condition).params.iter().zip(&kernel.region(body).yields).map(|(param, next)| param == next)
}

struct SimplifyLoopState;

impl Rewrite for SimplifyLoopState {
    fn inst(&mut self, to: &mut Rewriter<'_>, inst: &Inst) -> bool {
        let Op::Loop { ref inits, condition, body } = inst.op else { return false };
        let is_constant: Vec<bool> = constant_state(to.old, condition, body).collect();
        let changing: Vec<usize> = (0..inits.len()).filter(|&index| !is_constant[index]).collect();
        let params = &to.old.region(condition).params;
        for index in (0..inits.len()).filter(|&index| is_constant[index]) {
            let init = to.value(inits[index]);
            to.define(params[index], init);
            to.define(Value(inst.first.0 + index as u32), init);
        }
        let inits = changing.iter().map(|&index| to.value(inits[index])).collect();
        let condition = to.region_with(self, condition, &changing, &[0]);
        let body = to.region_with(self, body, &[], &changing);
        let results = to.new.loop_(inits, condition, body);
        for (&index, &result) in changing.iter().zip(&results) {
            to.define(Value(inst.first.0 + index as u32), result);
        }
        true
    }
}
