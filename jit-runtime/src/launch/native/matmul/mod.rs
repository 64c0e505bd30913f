//! Products of matrices.
//!
//! | part | file |
//! |---|---|
//! | tiles, the units of work, and their shares of long sums | `tile` |
//! | floats: panels of the factors, and sums of parts | `float` |
//! | what is computed in registers | `kernel`, `vector` |
//! | copies of the factors, in the order of the kernel | `pack` |
//! | halves and integers | `other` |
//!
//! Each element of `f32` and `f64` is the sum of its products in ascending order, each added with a single rounding, as
//! by `mul_add`. Long sums of which there are few are computed in parts, which are added in ascending order; the parts
//! depend on the shape alone. So the bits depend neither on the threads nor on the instructions of the processor.
//! Halves are multiplied and added in `f32` and rounded once. Integers wrap.

use std::sync::Arc;

use half::{bf16, f16};

use super::{Context, Operand, Step};
use crate::Error;
use crate::ir::Type;

mod float;
mod kernel;
mod other;
mod pack;
#[cfg(test)]
mod tests;

mod tile;
mod vector;

/// Products of matrices in row-major order, `c = a b`, for each of a batch of pairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatMul {
    /// The number of rows of `a` and `c`.
    pub rows: usize,
    /// The number of columns of `a` and of rows of `b`.
    pub inner: usize,
    /// The number of columns of `b` and `c`.
    pub columns: usize,
    /// Whether `a` is passed as its transpose, `inner` × `rows`.
    pub is_a_transposed: bool,
    /// Whether `b` is passed as its transpose, `columns` × `inner`.
    pub is_b_transposed: bool,
    /// The number of products; their matrices are consecutive in memory.
    pub batch: usize,
    /// Whether all products of the batch share a single `a`.
    pub is_a_shared: bool,
    /// Whether all products of the batch share a single `b`.
    pub is_b_shared: bool,
}

/// Whether matrices of an element type can be multiplied: all but `bool`.
#[must_use]
pub fn is_supported_matmul(ty: Type) -> bool {
    ty != Type::Bool
}

impl MatMul {
    /// One product of two matrices, neither of them transposed.
    #[must_use]
    pub const fn new(rows: usize, inner: usize, columns: usize) -> MatMul {
        MatMul {
            rows,
            inner,
            columns,
            is_a_transposed: false,
            is_b_transposed: false,
            batch: 1,
            is_a_shared: false,
            is_b_shared: false,
        }
    }

    /// The number of elements of `a`, `b` and `c`; none if that is more than memory can hold.
    #[must_use]
    pub fn lens(&self) -> Option<[usize; 3]> {
        let len = |rows: usize, columns: usize, count: usize| rows.checked_mul(columns)?.checked_mul(count);
        let count = |is_shared: bool| if is_shared { 1 } else { self.batch };
        Some([
            len(self.rows, self.inner, count(self.is_a_shared))?,
            len(self.inner, self.columns, count(self.is_b_shared))?,
            len(self.rows, self.columns, self.batch)?,
        ])
    }

    pub(super) fn check(&self, inputs: &[Operand], outputs: &[Operand]) -> Result<(), String> {
        let ([a, b], [c]) = (inputs, outputs) else { return Err("there are two inputs and one output".into()) };
        if a.ty != c.ty || b.ty != c.ty || !is_supported_matmul(c.ty) {
            return Err(format!("matrices of {} and {} cannot be multiplied to one of {}", a.ty, b.ty, c.ty));
        }
        let lens = [a.len, b.len, c.len];
        if self.lens() != Some(lens) {
            return Err(format!("the operands have {lens:?} elements, but {self:?} takes {:?}", self.lens()));
        }
        Ok(())
    }
}

/// Launches products that were checked.
pub(super) fn launch(context: Context, product: MatMul, a: &Operand, b: &Operand, c: &Operand) -> Result<(), Error> {
    match c.ty {
        Type::F32 => float::launch::<f32>(context, product, a, b, c),
        Type::F64 => float::launch::<f64>(context, product, a, b, c),
        Type::F16 => other::launch::<f16>(context, product, a, b, c),
        Type::BF16 => other::launch::<bf16>(context, product, a, b, c),
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
