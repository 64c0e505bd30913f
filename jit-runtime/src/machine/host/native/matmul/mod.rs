//! Products of matrices.
//!
//! | part | file |
//! |---|---|
//! | tiles, the units of work, and their shares of long sums | `tile` |
//! | floats: panels of the factors, and sums of parts | `float` |
//! | what is computed in registers | `kernel`, `vector` |
//! | sums of many groups in registers, each lane for a group | `lanes` |
//! | copies of the factors, in the order of the kernel | `pack` |
//! | factors of `bf16` in pairs, for processors that add two products at once | `pairs` |
//! | integers | `other` |
//!
//! Each element of `f32` and `f64` is the sum of its products in ascending order, each added with a single rounding, as
//! by `mul_add`. Long sums of which there are few are computed in parts, which are added in ascending order; the parts
//! depend on the shape alone. So the bits depend neither on the threads nor on the instructions of the processor.
//! Halves become `f32` while they are copied, or pairs of `bf16`; their sums, of the same order, are rounded once.
//! Integers wrap.

use std::sync::Arc;

use half::{bf16, f16};

use super::{Context, Operand, Step};
use crate::Error;
use crate::ir::Type;
use crate::machine::library::MatMul;

pub(super) mod float;
pub(super) mod kernel;
pub(super) mod lanes;
mod other;
pub(super) mod pack;
pub(super) mod pairs;
#[cfg(test)]
mod tests;

mod tile;
pub(super) mod vector;

/// Launches products that were checked.
pub(super) fn launch(context: Context, product: MatMul, a: &Operand, b: &Operand, c: &Operand) -> Result<(), Error> {
    match c.ty {
        Type::F32 => float::launch::<f32>(context, product, a, b, c),
        Type::F64 => float::launch::<f64>(context, product, a, b, c),
        Type::F16 => float::launch::<f16>(context, product, a, b, c),
        Type::BF16 => float::launch::<bf16>(context, product, a, b, c),
        // Products and sums of integers wrap, so their signedness makes no difference.
        Type::I8 | Type::U8 | Type::Bool => other::launch::<u8>(context, product, a, b, c),
        Type::I16 | Type::U16 => other::launch::<u16>(context, product, a, b, c),
        Type::I32 | Type::U32 => other::launch::<u32>(context, product, a, b, c),
        Type::I64 | Type::U64 => other::launch::<u64>(context, product, a, b, c),
    }
}

/// Returns the part of a launch that all products share.
fn step(context: Context, [a, b, c]: [&Operand; 3], blocks: usize, estimate_ns: f64) -> Step {
    Step {
        context,
        width: c.len,
        blocks,
        estimate_ns,
        reads: vec![Arc::clone(&a.buffer), Arc::clone(&b.buffer)],
        writes: vec![Arc::clone(&c.buffer)],
        carries: None,
    }
}
