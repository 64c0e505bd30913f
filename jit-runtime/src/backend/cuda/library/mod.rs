//! Library calls on GPUs: prefix reductions, sorts, products of matrices, convolutions, listing the true elements of a
//! mask, fills.
//!
//! A call is a [`Plan`]: plain data that says which temporary memory it needs, and which kernels it launches one after
//! another. Kernels are [`Routine`]s, whose PTX [`Routine::module`] returns. Nothing here needs a driver.
//!
//! ```text
//! Plan::of(call, type, length) -> Plan
//! Plan::run(device, inputs, outputs):
//!     device.allocate(bytes)                        for each temporary
//!     device.launch(routine, blocks, parameters)    for each step
//! ```
//!
//! What a machine must do is [`Device`]: allocate memory that lives until the launches are done, and launch on one
//! stream, so that each launch sees what the ones before wrote. The routine is the key under which it retains the
//! loaded code of a target. Blocks are in one dimension, and have [`Routine::threads`] threads. Shared memory is
//! declared by the code. Parameters are passed by value.
//!
//! Results have the bits of the host: orders are those of [`crate::backend::library`]. Only the bits of NaNs differ.
//!
//! | file | contents |
//! |---|---|
//! | `plan.rs` | plans and steps, and what runs them |
//! | `known.rs` | all routines, by their keys |
//! | `builder.rs` | loops, branches and arithmetic for the code of routines |
//! | `element.rs` | element types, and how they are combined |
//! | `block.rs` | scans over the threads of a block |
//! | `fill.rs` | one value in every element |
//! | `combine.rs` | the parts of reductions |
//! | `compress.rs` | the positions of true elements |
//! | `prefix/` | prefix reductions |
//! | `sort/` | sorts |
//! | `matmul/` | products of matrices |
//! | `convolve/` | convolutions and their transposes |

mod block;
mod builder;
mod combine;
mod compress;
pub(super) mod convolve;
mod element;
mod fill;
mod known;
pub(super) mod matmul;
mod plan;
mod prefix;
mod sort;

use super::ptx::Function;
use super::{Comments, Module, Target};
use crate::backend::library::Call;
use crate::ir::{ReduceOp, Type};

pub use compress::{Compress, count_true, list_true};
pub use convolve::Convolve;
pub use matmul::{Product, Tiles};
pub use plan::{Argument, Device, Plan, Step};
pub use prefix::Scan;
pub use sort::SortPass;

/// A kernel of library calls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Routine {
    /// Fills memory with a pattern of 64 bits.
    Fill,
    /// A pass over a mask.
    Compress(Compress),
    /// A pass of a prefix reduction.
    Prefix(Scan),
    /// Combines the parts of reductions.
    Combine {
        /// The operation.
        op: ReduceOp,
        /// The type of the parts.
        ty: Type,
    },
    /// A pass of a sort.
    Sort(SortPass),
    /// A pass of products of matrices.
    MatMul(Product),
    /// A convolution or one of its transposes.
    Convolve(Convolve),
}

impl Routine {
    /// The name of the entry point: letters, digits and underscores.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Routine::Fill => "fill".to_owned(),
            Routine::Compress(Compress::Count) => "compress_count".to_owned(),
            Routine::Compress(Compress::List) => "compress_list".to_owned(),
            Routine::Prefix(scan) => scan.name(),
            Routine::Combine { op, ty } => format!("combine_{}_{ty}", op.name()),
            Routine::Sort(pass) => pass.name(),
            Routine::MatMul(product) => product.name(),
            Routine::Convolve(convolve) => convolve.name(),
        }
    }

    /// The number of threads in each block.
    #[must_use]
    pub fn threads(&self) -> u32 {
        match self {
            Routine::Fill => fill::THREADS,
            Routine::Compress(_) => compress::THREADS,
            Routine::Prefix(scan) => scan.threads(),
            Routine::Combine { .. } => combine::THREADS,
            Routine::Sort(_) => sort::THREADS,
            Routine::MatMul(product) => product.threads(),
            Routine::Convolve(convolve) => convolve.threads(),
        }
    }

    /// The module whose only kernel is this one.
    #[must_use]
    pub fn module(&self, target: Target) -> Module {
        Module { target, comments: Comments::None, functions: vec![self.function(target)] }
    }

    pub(super) fn function(&self, target: Target) -> Function {
        let body = match self {
            Routine::Fill => fill::body(target),
            Routine::Compress(pass) => compress::body(*pass, target),
            Routine::Prefix(scan) => prefix::body(*scan, target),
            Routine::Combine { op, ty } => combine::body(*op, *ty, target),
            Routine::Sort(pass) => sort::body(*pass, target),
            Routine::MatMul(product) => matmul::body(*product, target),
            Routine::Convolve(convolve) => convolve::body(*convolve, target),
        };
        body.finish(self.name(), self.threads())
    }
}

impl Plan {
    /// The plan of a call with checked operands: `ty` and `len` are those of its first operand, which the others follow
    /// from. No operand has more than [`MAX_LEN`] elements. None for calls with more blocks than a grid has, as those
    /// of 2^31 matrices, and for convolutions that reach further than 2^31 elements along an axis.
    #[must_use]
    pub fn of(call: Call, ty: Type, len: usize) -> Option<Plan> {
        debug_assert!(len <= MAX_LEN, "an array of {len} elements");
        let plan = match call {
            Call::Fill(bits) => fill::plan(bits, ty, len),
            Call::Prefix(prefix) => prefix::plan(prefix, ty, len),
            Call::Sort(sort) => sort::plan(sort, ty, len),
            Call::MatMul(product) => matmul::plan(product, ty),
            Call::Convolve(convolution) => convolve::plan(convolution, ty)?,
        };
        plan.has_grids().then_some(plan)
    }
}

/// The most elements of an operand: positions behind the last one of a block have 32 bits, too.
pub const MAX_LEN: usize = (1 << 32) - (1 << 16);
