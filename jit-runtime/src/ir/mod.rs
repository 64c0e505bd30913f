//! The kernel IR: the contract between the language above and the backends below.
//!
//! A [`Kernel`] is a program for *one lane*. A launch of width `n` runs it for every lane index `0..n`; lanes run in no
//! particular order and, but for the operations named below, do not see one another.
//!
//! # Values
//!
//! Each [`Value`] is defined once, by an instruction or as a parameter of a region, and has one element [`Type`]. It
//! may be used by later instructions of the same region and by regions nested in them. A loop's body also sees the
//! parameters and values of the loop's condition, which runs before it in each iteration.
//!
//! # Arithmetic
//!
//! *Integers* are two's complement and wrap. Nothing traps: `x / 0` is all ones (`-1` for signed types), `x % 0` is
//! `x`, `MIN / -1` is `MIN`, `MIN % -1` is 0. Shift counts have the type of the shifted value and are read as
//! unsigned; a count at or beyond the width shifts out every bit (0, or the sign for an arithmetic right shift).
//!
//! *Floats* follow IEEE 754, round to nearest even, subnormals kept. No operation is contracted, reassociated or
//! approximated. Operations on `f16` and `bf16` are computed in `f32`, each result rounded to the half; so is their
//! fused multiply-add. Conversions between a half and `f64` or a 32- or 64-bit integer pass through `f32`. The payload
//! and sign of a NaN result are unspecified; `Neg`, `Abs`, `CopySign`, `Bitcast` and selections act on the bits there
//! are. The mode of the calling thread (rounding, flushing of subnormals) has no effect. [`BinaryOp::Rem`] of floats is
//! Rust's `%` (the exact C `fmod`). [`UnaryOp::Round`] rounds halfway cases to even.
//!
//! *Comparisons* with NaN are false, but for `Ne`, which is true. For `bool`, false is below true.
//!
//! *`bool`* supports `Not`, `And`, `Or`, `Xor`, comparisons and selection.
//!
//! *Casts* are Rust's `as`: float to integer truncates and saturates, NaN gives 0; integers wrap; to `bool` means
//! `!= 0` (NaN is true); `bool` gives 0 or 1; between floats and from integers rounds to nearest even.
//!
//! *Transcendental functions* ([`UnaryOp::Exp`] to [`UnaryOp::Cos`]) are defined by their expansion into the other
//! operations in [`passes::expand_math`], which runs before any backend sees a kernel. So all backends agree bit for
//! bit.
//!
//! # Memory
//!
//! A buffer parameter points to elements of one type. Distinct buffers of a launch do not overlap, except that one
//! read-only buffer may be bound to several parameters. [`Op::Load`] and [`Op::Store`] use the lane's own index.
//! [`Op::Gather`] and [`Op::Scatter`] use any integer index, read by value. It is out of range if it is negative, or
//! not below the number of elements that the launch says the buffer has. Lanes that are masked off, and those whose
//! index is out of range, touch no memory: they read zero, and write nothing. Buffers have fewer than 2^32 elements.
//!
//! Several lanes may scatter to one element: a plain write keeps one of the values, a reducing scatter combines all of
//! them, and what was there, in some order and grouping, which sums and products of floats may show in their rounding.
//! One run of code ([`crate::backend::Executable::run`]) combines in a fixed way, straight-line code in ascending order
//! of the lanes but for those that share an index, and its last lane's write stays; what launches make of that is said
//! in [`crate::launch`]. An element that is scattered to once is exact, one that is not keeps its bits. A kernel does
//! not gather from a buffer that it writes.
//!
//! [`Op::Atomic`] and [`Op::CompareExchange`] also give what they found. The step from reading to writing is
//! indivisible, for each lane alone: no other lane changes the element in between. Which lane is first is unspecified;
//! one lane's operations on an element happen in the order of the program. Values are compared by their bits, so `-0`
//! is not `+0` and a NaN can be equal. Lanes that are masked off or out of range change nothing and give zero and
//! false.
//!
//! [`Op::Reduce`] combines a value over all lanes, or, where the launch says so, over each block of a number of
//! consecutive lanes. The order is fixed, so that floats give the same bits whatever the vector width, the number of
//! threads and the backend. Lanes, counted from the start of the block, are cut into chunks of [`REDUCE_CHUNK`]. A
//! chunk has [`REDUCE_ROW`] running results that start from the identity of the operation (+0 for sums of floats); lane
//! `l` is combined into result `l % REDUCE_ROW`, lanes in ascending order. Then the upper half of the results is
//! combined into the lower one, result `i + n / 2` into `i`, until one is left. Halves are kept in `f32` from the
//! identity to there, and rounded once. The results of the chunks are combined in pairs of neighbours, what comes out
//! again in pairs, and so on; an odd last one waits for the next round ([`scalar::reduce_in_pairs`]). A launch of width
//! 0 gives the identity.
//!
//! A lane's own memory ([`Kernel::locals`]) lives as long as the lane runs, and is zero at first. [`Op::LocalRead`] and
//! [`Op::LocalWrite`] take any integer index, read by value. Active lanes do them in the order of the program. An index
//! out of range reads zero and writes nothing.
//!
//! # Control flow
//!
//! A lane executes [`Op::Loop`] as `state = inits; loop { if !condition(state) { break }; state = body() }`: the
//! condition region takes the state as parameters and yields one `bool`; the body yields the next state. Lanes leave
//! independently; a lane that has left keeps its state and is not *active* in further iterations. [`Op::If`] runs the
//! region that the lane's condition chooses; the lane is not active in the other one. [`Op::Switch`] does so with any
//! number of regions, and runs the last one, `default`, where the index is none of a case. Inactive lanes touch no
//! memory. [`Op::Store`] and [`Op::Reduce`] are in the top region only.
//!
//! # Parts
//!
//! [`Builder`] makes kernels, [`verify`](mod@verify) checks them, [`mod@print`] and [`parse`](mod@parse) convert to
//! and from text, [`encode`] gives the canonical bytes and their hash, [`passes`] improve them.

pub mod builder;
pub mod encode;
pub mod kernel;
pub mod math;
pub mod op;
mod operands;
pub mod parse;
pub mod passes;
pub mod print;
#[doc(hidden)]
#[cfg(any(test, feature = "random"))]
pub mod random;
pub mod scalar;
pub mod types;
pub mod verify;

pub use builder::Builder;
pub use kernel::{
    Access, Inst, Kernel, LocalId, LocalMemory, MAX_LOCAL_BYTES, Param, ParamId, Region, RegionId, TOP, Value,
};
pub use op::{AtomicOp, BinaryOp, CompareOp, Op, ReduceOp, Types, UnaryOp};
pub use parse::{ParseError, parse};
pub use types::Type;
pub use verify::{VerifyError, verify};

/// Lanes whose values are reduced together before partial results are combined, see [`Op::Reduce`].
pub const REDUCE_CHUNK: usize = 16384;

/// Running results of a reduction within a chunk, see [`Op::Reduce`].
pub const REDUCE_ROW: usize = 64;
