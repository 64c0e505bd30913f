//! Integers that an iteration changes by invertible steps: what is added to them does not depend on the loop, and what
//! they are multiplied by is an odd constant. Counters and the states of random generators are such; their value before
//! an iteration follows from the one after it.

use jit_runtime::ir::{BinaryOp, Type};

use super::parts::Loop;
use crate::graph::Var;
use crate::graph::op::Op;
use crate::trace::record;

/// A step of an iteration.
enum Step {
    Add(Var),
    Subtract(Var),
    Multiply(u64),
}

/// The steps of an iteration, the first one first.
pub(super) struct Affine(Vec<Step>);

impl Affine {
    /// Returns the steps of a state, if it changes by such alone.
    pub(super) fn of(of: &Loop<'_>, position: usize) -> Option<Affine> {
        let state = &of.states()[position];
        if state.is_memory || !is_integer(state.init.ty()) {
            return None;
        }
        let is_outside = |var: &Var| var.region().get() < of.payload.id.get();
        let mut value = state.next.clone()?;
        let mut steps = Vec::new();
        while !value.is_same(&state.param) {
            let Op::Binary(op) = value.op() else { return None };
            let (a, b) = (value.operand(0)?, value.operand(1)?);
            let (inner, outer) = if is_outside(&b) { (a, b) } else { (b, a) };
            let is_left = value.operand(0)?.is_same(&inner);
            if !is_outside(&outer) {
                return None;
            }
            steps.push(match op {
                BinaryOp::Add => Step::Add(outer),
                BinaryOp::Sub if is_left => Step::Subtract(outer),
                BinaryOp::Mul => Step::Multiply(outer.literal().filter(|factor| factor % 2 == 1)?),
                _ => return None,
            });
            value = inner;
        }
        steps.reverse();
        Some(Affine(steps))
    }

    /// Returns the value before an iteration, from the one after it.
    #[track_caller]
    pub(super) fn undo(&self, after: &Var) -> Var {
        self.0.iter().rev().fold(after.clone(), |value, step| match step {
            Step::Add(other) => record::binary(BinaryOp::Sub, &value, other),
            Step::Subtract(other) => record::binary(BinaryOp::Add, &value, other),
            Step::Multiply(factor) => record::binary(BinaryOp::Mul, &value, &inverse(value.ty(), *factor)),
        })
    }

    /// Returns the constant that each iteration adds, if that is all.
    pub(super) fn stride(&self) -> Option<u64> {
        match &self.0[..] {
            [Step::Add(other)] => other.literal(),
            [Step::Subtract(other)] => other.literal().map(u64::wrapping_neg),
            _ => None,
        }
    }
}

fn is_integer(ty: Type) -> bool {
    !ty.is_float() && ty != Type::Bool
}

/// Returns the inverse of an odd number modulo a power of two. Each of Newton's steps doubles the number of right bits,
/// and an odd number is its own inverse in three.
pub(super) fn inverse(ty: Type, odd: u64) -> Var {
    let bits = (0..5).fold(odd, |x, _| x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x))));
    record::literal(ty, bits, 1)
}
