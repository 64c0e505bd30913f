//! An interpreter of PTX, which runs emitted kernels without a GPU.
//!
//! It parses the text, and knows only the instructions that kernels use: any other one is an error. Their meaning is
//! that of the manual ("PTX ISA"), written down once more and not shared with the code that emits them. What the manual
//! leaves unspecified is made to be noticed: registers that were not written cannot be read, memory of threads and
//! blocks begins with arbitrary bytes, and the result of a division by zero is some other number.
//!
//! Threads are run one by one in random order for random numbers of instructions. A GPU may interleave the threads of a
//! warp in the same way, so code that depends on the order of threads shows. Accesses of shared memory that no barrier
//! separates are errors. Memory is consistent, though: fences that are missing do not show.

mod arithmetic;
mod convert;
mod instruction;
mod memory;
mod parse;
mod random;
mod run;
mod shared;
mod warp;

pub use memory::Global;
pub use parse::parse;
pub use run::{Launch, launch};

use std::collections::HashMap;

use instruction::Instruction;

/// What atomic sums of `f32` do with subnormal operands and results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomicSums {
    /// They are exact, as the IR demands: to compare everything else.
    Exact,
    /// They are replaced by zeros, as GPUs do.
    Flushed,
}

/// The entry point of a kernel.
#[derive(Debug, Default)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// The names of the parameters, with their offsets in the bytes that are passed.
    parameters: HashMap<String, usize>,
    /// The number of bytes that a launch passes.
    pub parameter_bytes: usize,
    /// The threads of a block, if the kernel demands a number.
    pub threads: Option<u32>,
    /// The offsets of the variables in local and shared memory.
    variables: HashMap<String, u64>,
    local_bytes: usize,
    shared_bytes: usize,
    /// The bits that each register keeps.
    register_masks: Vec<u64>,
    code: Vec<Instruction>,
}

impl Entry {
    /// The bytes of local memory of each thread.
    #[must_use]
    pub fn local_bytes(&self) -> usize {
        self.local_bytes
    }
}
