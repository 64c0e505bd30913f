//! Library calls as data: operations on arrays that are not programs of one lane.
//!
//! Each machine has its own functions for them. Results have the same bits on all, so the order in which elements are
//! combined is a part of these definitions.
//!
//! # Order
//!
//! - *Prefix reductions*: if the order matters (sums and products of floats), it is the following, for each separately
//!   scanned part, in the direction of the scan. Elements are cut into rows of [`PREFIX_ROW`], and rows are grouped
//!   into chunks of [`PREFIX_CHUNK`] elements. A row is combined from the identity on, one element after another; so
//!   are the totals of the rows of a chunk, and the totals of the chunks. An element's result is (the total of the
//!   chunks before, combined with the total of the rows before), combined with the elements of its own row. Halves are
//!   combined in `f32`, and each result is rounded once.
//! - *Products of matrices*: each element is the sum of its products in ascending order, from zero on, each added with
//!   a single rounding. Sums of `f32` and `f64` are computed in [`MatMul::parts`], of which number *i* of *n* begins at
//!   the product *inner i / n*, and which are added in ascending order. Halves are multiplied and added in `f32` and
//!   rounded once. Integers wrap.
//! - *Convolutions*: each element of a result is the sum of its products in ascending order of channel and position in
//!   the kernel, each added with a single rounding; elements outside of the input are zeros. The transpose by the input
//!   sums in ascending order of result channel and position in the kernel, over the places that there are. The
//!   transpose by the kernels sums in ascending order of image and place, in parts ([`Convolution::parts`]) and in
//!   lanes of these ([`Convolution::lanes`]) that depend on the shape alone and are added in ascending order. Halves
//!   are multiplied and added in `f32` and rounded once.
//! - *Sorts*: integers are ordered by value, and `false` before `true`. Floats are ordered by value, with -0 before +0.
//!   All NaNs are equal and come last; their bits are unspecified. Equal elements retain their order, in descending
//!   order as well.

mod convolution;
mod key;

pub(crate) use convolution::LANES;
pub use convolution::{AXES, Convolution, Sought, is_supported_convolution};
pub use key::SortKey;

use crate::ir::{ReduceOp, Type, scalar};

/// An operation that is launched as a library call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Call {
    /// Fills every element with one value, passed as its bits. No input, one output.
    Fill(u64),
    /// A prefix reduction. One input, one output of the same type and width.
    Prefix(Prefix),
    /// Products of matrices. Two inputs, one output, all of one type.
    MatMul(MatMul),
    /// A sort. One input, one or two outputs.
    Sort(Sort),
    /// A convolution or one of its transposes. Two inputs, one output, all of one type: of input, kernels and results
    /// those that are not sought, the results first if they are an input.
    Convolve(Convolution),
}

impl Call {
    /// The name of the operation in statistics and errors.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Call::Fill(_) => "fill",
            Call::Prefix(_) => "prefix_reduce",
            Call::MatMul(_) => "matmul",
            Call::Sort(_) => "sort",
            Call::Convolve(_) => "convolve",
        }
    }

    /// The same operation with other sizes, if it has any: the length of the blocks of a prefix reduction, or of a
    /// sort; rows, inner length, columns and number of products of matrices; those of a convolution. Without sizes,
    /// returns the operation unchanged.
    #[must_use]
    pub fn with_sizes(self, sizes: &[usize]) -> Call {
        match (self, sizes) {
            (Call::Prefix(prefix), &[restart]) => Call::Prefix(Prefix { restart, ..prefix }),
            (Call::Sort(sort), &[row]) => Call::Sort(Sort { row, ..sort }),
            (Call::MatMul(product), &[rows, inner, columns, batch]) => {
                Call::MatMul(MatMul { rows, inner, columns, batch, ..product })
            }
            (Call::Convolve(convolution), sizes) => Call::Convolve(convolution.with_sizes(sizes)),
            (call, _) => call,
        }
    }
}

/// A prefix reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prefix {
    /// The operation that combines elements.
    pub op: ReduceOp,
    /// Whether an element's result excludes the element itself, so that the first result is the identity.
    pub is_exclusive: bool,
    /// Whether the scan goes from the last element to the first.
    pub is_reverse: bool,
    /// The scan restarts after this many elements, counted from the first; at least 1. The last part may be shorter.
    pub restart: usize,
}

/// Whether an operation exists for an element type.
#[must_use]
pub fn is_supported_prefix(op: ReduceOp, ty: Type) -> bool {
    scalar::is_supported_reduce(op, ty)
}

/// The number of elements that a prefix reduction combines one after another, see the module.
pub const PREFIX_ROW: usize = 1 << 11;
/// The number of elements of a chunk of a prefix reduction, see the module.
pub const PREFIX_CHUNK: usize = 16 * PREFIX_ROW;

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

    /// The number of parts into which each sum of `f32` and `f64` is divided. It is a part of their semantics, and
    /// depends on the shape alone: long sums of which there are few have many.
    #[must_use]
    pub fn parts(&self) -> usize {
        let sums = self.rows.saturating_mul(self.columns).saturating_mul(self.batch);
        if sums <= FEW_SUMS { (self.inner / PART).clamp(1, MAX_PARTS) } else { 1 }
    }
}

/// Products with so few sums …
const FEW_SUMS: usize = 1 << 14;
/// … are computed in parts of at least this length …
const PART: usize = 512;
/// … of which there are at most so many.
const MAX_PARTS: usize = 64;

/// The outputs of a sort.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sorted {
    /// The sorted elements: one output, of the type of the input.
    Values,
    /// Their previous positions in the row, as `u32`: one output.
    Positions,
    /// Both, the elements first: two outputs.
    Both,
}

/// A sort. One input; all outputs have the same width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sort {
    /// Whether the largest elements come first; equal ones retain their order.
    pub is_descending: bool,
    /// The length of a row, which is sorted separately; at least 1. The last row may be shorter.
    pub row: usize,
    /// The outputs to write.
    pub gives: Sorted,
}
