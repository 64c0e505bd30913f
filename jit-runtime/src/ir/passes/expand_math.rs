//! Replaces the transcendental operations by their definition in [`math`].
//!
//! A sine and a cosine of one value share the reduction of the angle.

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
    /// Angles that are visible, reduced.
    angles: Vec<(Value, math::Angle<Value>)>,
    /// How many were visible where each open region starts.
    scopes: Vec<usize>,
}

impl ExpandMath {
    fn unary(&mut self, to: &mut Rewriter<'_>, op: UnaryOp, x: Value) -> Value {
        let (x, ty) = (to.value(x), to.old.ty(x));
        if matches!(op, UnaryOp::Sin | UnaryOp::Cos) {
            let angle = self.angle(to, x);
            math::of_angle(&mut to.new, op, ty, angle)
        } else {
            math::expand(&mut to.new, op, x)
        }
    }

    fn angle(&mut self, to: &mut Rewriter<'_>, x: Value) -> math::Angle<Value> {
        if let Some(&(_, angle)) = self.angles.iter().find(|(value, _)| *value == x) {
            return angle;
        }
        let angle = math::reduce_angle(&mut to.new, x);
        self.angles.push((x, angle));
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

    fn leave(&mut self) {
        let visible = self.scopes.pop().expect("a region that ends has started");
        self.angles.truncate(visible);
    }
}
