//! Replaces transcendental operations by their definition in [`math`].
//!
//! A sine and a cosine of the same value share the angle reduction.

use super::rewrite::{Rewrite, Rewriter, rewrite};
use crate::ir::kernel::{Inst, Kernel, Value};
use crate::ir::math;
use crate::ir::op::{Op, UnaryOp};

/// Runs the pass.
pub fn run(kernel: &mut Kernel) {
    if kernel.regions.iter().flat_map(|region| &region.insts).any(|inst| inst.op.is_transcendental()) {
        rewrite(kernel, &mut ExpandMath::default());
    }
}

#[derive(Default)]
struct ExpandMath {
    /// Visible reduced angles, for the exact functions or the fast ones.
    angles: Vec<((Value, bool), math::Angle<Value>)>,
    /// The number of visible angles at the start of each open region.
    scopes: Vec<usize>,
}

impl ExpandMath {
    fn unary(&mut self, to: &mut Rewriter<'_>, op: UnaryOp, x: Value) -> Value {
        let (x, ty) = (to.value(x), to.old.ty(x));
        if matches!(op.exact(), UnaryOp::Sin | UnaryOp::Cos) {
            let angle = self.angle(to, x, op.is_fast());
            math::of_angle(&mut to.new, op, ty, angle)
        } else {
            math::expand(&mut to.new, op, x)
        }
    }

    fn angle(&mut self, to: &mut Rewriter<'_>, x: Value, is_fast: bool) -> math::Angle<Value> {
        let key = (x, is_fast);
        if let Some(&(_, angle)) = self.angles.iter().find(|(known, _)| *known == key) {
            return angle;
        }
        let angle = math::reduce_angle(&mut to.new, x, is_fast);
        self.angles.push((key, angle));
        angle
    }
}

impl Rewrite for ExpandMath {
    fn inst(&mut self, to: &mut Rewriter<'_>, inst: &Inst) -> bool {
        let result = match inst.op {
            Op::Unary(op, x) if op.is_transcendental() => self.unary(to, op, x),
            Op::Binary(op, x, y) if op.is_transcendental() => {
                let (x, y) = (to.value(x), to.value(y));
                math::expand_binary(&mut to.new, op, x, y)
            }
            _ => return false,
        };
        to.define(inst.first, result);
        true
    }

    fn enter(&mut self) {
        self.scopes.push(self.angles.len());
    }

    fn exit_region(&mut self) {
        let visible = self.scopes.pop().expect("a region that ends has started");
        self.angles.truncate(visible);
    }
}
