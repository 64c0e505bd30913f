//! Values in messages, and names of operations.

use jit_runtime::ir::ReduceOp;

use super::Op;
use super::node::Var;
use super::payload::Payload;
use crate::misuse::Misuse;

impl Var {
    /// Returns the name of the operation that makes the value, as users write it.
    pub(crate) fn operation_name(&self) -> &'static str {
        match self.op() {
            Op::Literal => "constant",
            Op::Scalar | Op::Data => "input",
            Op::Placeholder => "placeholder",
            Op::LaneIndex => "arange",
            Op::Broadcast => "broadcast",
            Op::Identity => "identity",
            Op::Cast => "cast",
            Op::Bitcast => "bitcast",
            Op::Unary(op) => op.name(),
            Op::Binary(op) => op.name(),
            Op::Fma => "mul_add",
            Op::Compare(op) => op.name(),
            Op::Select => "select",
            Op::Gather => "gather",
            Op::Reduce(op) => reduction_name(op),
            Op::Param => "state of a loop",
            Op::Loop | Op::LoopResult => "loop",
            Op::Branch | Op::BranchResult => "branch",
            Op::Switch | Op::SwitchResult => "call",
            Op::Scatter | Op::ScatterResult => "scatter",
            Op::Local | Op::LocalRead | Op::LocalWrite => "local memory",
            Op::LibraryCall | Op::LibraryResult => self.library_name().unwrap_or("library call"),
        }
    }

    fn library_name(&self) -> Option<&'static str> {
        let name = |var: &Var| match var.payload() {
            Some(Payload::LibraryCall(payload)) => Some(payload.call.name()),
            _ => None,
        };
        name(self).or_else(|| self.operand(0).and_then(|call| name(&call)))
    }
}

fn reduction_name(op: ReduceOp) -> &'static str {
    match op {
        ReduceOp::Add => "sum",
        ReduceOp::Mul => "product",
        ReduceOp::Min => "reduce_min",
        ReduceOp::Max => "reduce_max",
        ReduceOp::And => "all",
        ReduceOp::Or => "any",
    }
}

impl Misuse {
    /// Adds an operand, with its width and the line that made it.
    #[must_use]
    pub fn value(self, role: &str, var: &Var) -> Self {
        let label = var.label().map(|label| format!(" “{label}”")).unwrap_or_default();
        self.place(format_args!("{role}{label} ({}, width {}) was made", var.ty(), var.lanes()), var.site())
    }
}
