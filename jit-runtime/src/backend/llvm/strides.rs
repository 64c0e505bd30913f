//! Indices whose lanes are a fixed distance apart, which may be any number that the lanes share.
//!
//! Examples are columns of matrices, and rows that become columns. Elements so far apart are read one by one: the
//! addresses are the first one plus multiples of the distance, so that nothing is taken out of vectors, and processors
//! load two or three elements in the time that a gather takes for one.

use super::analysis::{Analysis, Shape};
use crate::ir::{BinaryOp, Kernel, Op, Type, Value};

/// The distance of each lane's value from that of the lane before, modulo the type's range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stride {
    Constant(u64),
    Shared(Value),
}

/// The strides of the varying integers of 32 bits that have one.
pub(super) fn strides(kernel: &Kernel, analysis: &Analysis) -> Vec<Option<Stride>> {
    let mut strides = vec![None; kernel.types.len()];
    let is_linear = |value: Value| matches!(analysis.shape(value), Shape::Linear { .. });
    let is_shared = |value: Value| analysis.shape(value).is_scalar();
    let by = |value: Value| analysis.constant(value).map_or(Stride::Shared(value), Stride::Constant);
    // A region usually comes after the one that it is nested in. If passes have changed that, a stride is missed.
    for inst in kernel.regions.iter().flat_map(|region| &region.insts) {
        let result = inst.first;
        if inst.results != 1
            || !matches!(kernel.ty(result), Type::I32 | Type::U32)
            || analysis.shape(result) != Shape::Varying
        {
            continue;
        }
        strides[result.index()] = match inst.op {
            Op::Binary(BinaryOp::Mul, a, b) if is_linear(a) && is_shared(b) => Some(by(b)),
            Op::Binary(BinaryOp::Mul, a, b) if is_shared(a) && is_linear(b) => Some(by(a)),
            Op::Binary(BinaryOp::Shl, a, b) if is_linear(a) => {
                analysis.constant(b).filter(|&count| count < 31).map(|count| Stride::Constant(1 << count))
            }
            Op::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) if is_shared(b) => strides[a.index()],
            Op::Binary(BinaryOp::Add, a, b) if is_shared(a) => strides[b.index()],
            _ => None,
        };
    }
    strides
}
