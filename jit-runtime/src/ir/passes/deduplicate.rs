//! Computes equal values once: common subexpressions, within a region and from the regions around it.
//!
//! Tracing already numbers equal expressions. This pass finds those that other passes made, mainly constants.

use rustc_hash::FxHashMap;

use super::rewrite::{Rewrite, Rewriter, rewrite};
use crate::ir::kernel::{Access, Inst, Kernel, Param, Value};
use crate::ir::op::{BinaryOp, Op};

/// Runs the pass.
pub fn run(kernel: &mut Kernel) {
    rewrite(kernel, &mut Deduplicate::default());
}

#[derive(Default)]
struct Deduplicate {
    /// Visible values by the operation that computes them.
    known: FxHashMap<Op, Value>,
    /// The keys of `known`, in the order of insertion.
    order: Vec<Op>,
    /// The number of known values at the start of each open region.
    scopes: Vec<usize>,
}

impl Rewrite for Deduplicate {
    fn inst(&mut self, to: &mut Rewriter<'_>, inst: &Inst) -> bool {
        if !is_repeatable(to.old, &inst.op) {
            return false;
        }
        let key = ordered(to.op(&inst.op));
        if let Some(&value) = self.known.get(&key) {
            to.define(inst.first, value);
            return true;
        }
        to.append(key.clone(), inst);
        self.known.insert(key.clone(), to.value(inst.first));
        self.order.push(key);
        true
    }

    fn enter(&mut self) {
        self.scopes.push(self.order.len());
    }

    fn exit_region(&mut self) {
        let visible = self.scopes.pop().expect("a region that ends has started");
        for key in self.order.drain(visible..) {
            self.known.remove(&key);
        }
    }
}

/// Whether repeating the operation returns the same value.
fn is_repeatable(kernel: &Kernel, op: &Op) -> bool {
    match *op {
        Op::Load(buffer) | Op::Gather { buffer, .. } => {
            matches!(kernel.param(buffer), Param::Buffer { access: Access::Read, .. })
        }
        Op::LocalRead { .. } | Op::LocalWrite { .. } => false,
        _ if op.has_regions() => false,
        _ => !op.writes_memory(),
    }
}

/// Puts the operands of commutative operations in ascending order.
fn ordered(op: Op) -> Op {
    use BinaryOp::{Add, And, FMax, FMin, Max, Min, Mul, MulHi, Or, Xor};
    match op {
        Op::Binary(op @ (Add | Mul | MulHi | Min | Max | FMin | FMax | And | Or | Xor), a, b) if b < a => {
            Op::Binary(op, b, a)
        }
        Op::Fma(a, b, c) if b < a => Op::Fma(b, a, c),
        op => op,
    }
}
