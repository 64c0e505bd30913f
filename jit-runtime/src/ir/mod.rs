//! The kernel IR: the contract between the language above and the backends below.
//!
//! A [`Kernel`] is a program for *one lane*. A launch of width `n` runs it for every lane index `0..n`. Lanes run in no
//! particular order and, except for the operations named below, do not see one another.
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
//! `x`, `MIN / -1` is `MIN`, `MIN % -1` is 0. Shift counts have the type of the shifted value and are read as unsigned.
//! A count greater than or equal to the width shifts out every bit (0, or the sign for an arithmetic right shift).
//!
//! *Floats* follow IEEE 754: round to nearest even, with subnormals. No operation is contracted, reassociated or
//! approximated. Operations on `f16` and `bf16` are computed in `f32`, and each result is rounded to the half; the same
//! holds for their fused multiply-add. Conversions between a half and `f64` or a 32- or 64-bit integer pass through
//! `f32`. The payload and sign of a NaN result are unspecified; `Neg`, `Abs`, `CopySign`, `Bitcast` and selections act
//! on the existing bits. The mode of the calling thread (rounding, flushing of subnormals) has no effect.
//! [`BinaryOp::Rem`] of floats is Rust's `%` (the exact C `fmod`). [`UnaryOp::Round`] rounds halfway cases to even.
//!
//! *Comparisons* with NaN are false, except `Ne`, which is true. For `bool`, false is below true.
//!
//! *`bool`* supports `Not`, `And`, `Or`, `Xor`, comparisons and selection.
//!
//! *Casts* are Rust's `as`: float to integer truncates and saturates, and NaN becomes 0; integers wrap; a cast to
//! `bool` means `!= 0` (NaN is true); `bool` becomes 0 or 1; between floats and from integers to floats rounds to
//! nearest even.
//!
//! *Transcendental functions* ([`UnaryOp::Exp`] to [`UnaryOp::Cos`]) are defined by their expansion into the other
//! operations in [`passes::expand_math`]. The pass runs before any backend sees a kernel, so all backends agree bit for
//! bit.
//!
//! # Memory
//!
//! A buffer parameter points to elements of one type. Distinct buffers of a launch do not overlap, except that one
//! read-only buffer may be bound to several parameters. [`Op::Load`] and [`Op::Store`] use the lane's own index.
//! [`Op::Gather`] and [`Op::Scatter`] use any integer index, read by value. It is out of range if it is negative, or
//! not below the number of elements that the launch specifies for the buffer. Masked lanes, and lanes whose index is
//! out of range, touch no memory: they read zero and write nothing. Buffers have fewer than 2^32 elements.
//!
//! Several lanes may scatter to one element. A plain write retains one of the values. A reducing scatter combines all
//! of them with the old element, in some order and grouping; sums and products of floats may reveal it in their
//! rounding. One run of code ([`crate::backend::Executable::run`]) combines in a fixed way: straight-line code in
//! ascending order of the lanes, except those that share an index, and the write of its last lane wins.
//! [`crate::launch`] describes what launches guarantee on top of that. An element that is scattered to once is exact,
//! and one that is not scattered to retains its bits. A kernel does not gather from a buffer that it writes.
//!
//! [`Op::Atomic`] and [`Op::CompareExchange`] also return the old element. The step from reading to writing is
//! indivisible for each single lane: no other lane changes the element in between. Which lane is first is unspecified;
//! the operations of one lane on an element happen in program order. Values are compared by their bits, so `-0` is not
//! `+0` and a NaN can be equal. Lanes that are masked or out of range change nothing and return zero and false.
//!
//! [`Op::Reduce`] combines a value over all lanes, or, where the launch specifies it, over each block of a number of
//! consecutive lanes. The order is fixed, so floats have the same bits for every vector width, number of threads and
//! backend. Lanes, counted from the start of the block, are cut into chunks of [`reduce_chunk`] lanes. A chunk has
//! [`REDUCE_ROW`] running results that start from the identity of the operation (+0 for sums of floats); lane `l` is
//! combined into result `l % REDUCE_ROW`, lanes in ascending order. Then the upper half of the results is combined into
//! the lower one, result `i + n / 2` into `i`, until one is left. Halves are held in `f32` from the identity to this
//! point, and rounded once. The results of the chunks are combined in pairs of neighbours, the results of that again in
//! pairs, and so on; an odd last one waits for the next round ([`scalar::reduce_in_pairs`]). A launch of width 0
//! returns the identity.
//!
//! Per-lane local memory ([`Kernel::locals`]) lives as long as the lane runs, and is zero at first. [`Op::LocalRead`]
//! and [`Op::LocalWrite`] take any integer index, read by value. Active lanes execute them in program order. An index
//! out of range reads zero and writes nothing.
//!
//! # Control flow
//!
//! A lane executes [`Op::Loop`] as `state = inits; loop { if !condition(state) { break }; state = body() }`: the
//! condition region takes the state as parameters and yields one `bool`; the body yields the next state. Lanes exit
//! independently. A lane that has exited retains its state and is not *active* in further iterations. [`Op::If`] runs
//! the region that the lane's condition chooses; the lane is not active in the other one. [`Op::Switch`] does so with
//! any number of regions, and runs the last one, `default`, where no case has the index. Inactive lanes touch no
//! memory. [`Op::Store`] and [`Op::Reduce`] are in the top region only.
//!
//! # Parts
//!
//! [`Builder`] makes kernels, [`verify`](mod@verify) checks them, [`mod@print`] and [`parse`](mod@parse) convert to and
//! from text, [`encode`] returns the canonical bytes and their hash, and [`passes`] optimise them.

pub mod builder;
pub mod encode;
pub mod kernel;
pub mod lines;
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
pub use lines::Lines;
pub use op::{AtomicOp, BinaryOp, CompareOp, Op, ReduceOp, Types, UnaryOp};
#[cfg(feature = "llvm")]
pub(crate) use operands::for_each_nested_operand;
pub use parse::{ParseError, parse};
pub use types::Type;
pub use verify::{VerifyError, verify};

/// The largest number of lanes whose values are reduced together before partial results are combined, see
/// [`Op::Reduce`].
pub const MAX_REDUCE_CHUNK: usize = 16384;

/// The number of lanes whose values are reduced together before partial results are combined, see [`Op::Reduce`].
///
/// One thread runs a chunk. If one result is computed from all lanes, a chunk has a 32nd of them, rounded up to a power
/// of two from 512 to 4096: all threads have some even if there are few lanes, and their number costs little if there
/// are many. If there are several results, a chunk has [`MAX_REDUCE_CHUNK`] lanes, or those of a result.
#[must_use]
pub const fn reduce_chunk(width: usize, lanes_per_reduction: usize) -> usize {
    const WANTED_CHUNKS: usize = 32;
    if lanes_per_reduction < width {
        return MAX_REDUCE_CHUNK;
    }
    match width.div_ceil(WANTED_CHUNKS) {
        0..=512 => 512,
        2049.. => 4096,
        lanes => lanes.next_power_of_two(),
    }
}

/// The number of running results of a reduction within a chunk, see [`Op::Reduce`].
pub const REDUCE_ROW: usize = 64;
