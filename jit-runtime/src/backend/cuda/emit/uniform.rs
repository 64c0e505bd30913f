//! The values that all lanes share, as far as they are computed once for each thread, before its loop over lanes.

use crate::ir::{Access, Kernel, Op, Param, TOP, Value};

/// For each value, whether it is one of the top region that depends only on parameters and constants. Reading a buffer
/// that the kernel does not write counts as well, since a read out of range is checked.
pub(super) fn uniform_values(kernel: &Kernel) -> Vec<bool> {
    let mut is_uniform = vec![false; kernel.types.len()];
    for inst in &kernel.region(TOP).insts {
        let mut operands_are = true;
        inst.op.for_each_operand(|operand| operands_are &= is_uniform[operand.index()]);
        if operands_are && is_shareable(kernel, &inst.op) {
            inst.values().for_each(|Value(value)| is_uniform[value as usize] = true);
        }
    }
    is_uniform
}

/// Whether the operation has the same result for all lanes whose operands are the same, and no effect.
fn is_shareable(kernel: &Kernel, op: &Op) -> bool {
    match op {
        Op::Const(..)
        | Op::Scalar(_)
        | Op::Unary(..)
        | Op::Binary(..)
        | Op::Fma(..)
        | Op::Compare(..)
        | Op::Select(..)
        | Op::Cast(..)
        | Op::Bitcast(..) => true,
        Op::Gather { buffer, .. } => matches!(kernel.param(*buffer), Param::Buffer { access: Access::Read, .. }),
        _ => false,
    }
}
