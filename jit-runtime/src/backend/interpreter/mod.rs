//! The executable specification: runs kernels as they are written down, with no code generation.
//!
//! Every other backend is tested against this one, and it is what programs run on where there is no compiler. It takes
//! any valid kernel, before or after the passes. Lanes are worked on in blocks: each value is a column of carriers,
//! one for each lane of the block, and each operation is one pass over columns by a function of
//! [`scalar`](crate::ir::scalar). Lanes that are not active still compute, which no one sees, but touch no memory and
//! keep their loop state.

mod frame;
mod memory;

use std::ops::Range;

use super::{Executable, RawArgument, Scatters};
use crate::cancel::Poll;
use crate::ir::Kernel;
use frame::Frame;

/// The most lanes that are worked on together.
const MAX_BLOCK: usize = 256;

/// The least, unless a launch has fewer.
const MIN_BLOCK: usize = 16;

/// Carriers that the columns of a block take at most, as far as the least block allows: they should stay in the cache.
const COLUMN_BUDGET: usize = 1 << 16;

/// A kernel, ready to be interpreted.
#[derive(Debug)]
pub struct InterpreterExecutable {
    kernel: Kernel,
    block: usize,
    scatters: Scatters,
}

/// Makes a valid kernel ready to be interpreted.
#[must_use]
pub fn prepare(kernel: Kernel) -> InterpreterExecutable {
    let columns = kernel.types.len() + kernel.locals.iter().map(|local| local.len as usize).sum::<usize>();
    let block = (COLUMN_BUDGET / columns.max(1)).clamp(MIN_BLOCK, MAX_BLOCK);
    // A power of two, so that blocks divide the chunks of reductions.
    let block = 1 << block.ilog2();
    InterpreterExecutable { kernel, block, scatters: Scatters::Shared }
}

impl InterpreterExecutable {
    /// The same for targets of reducing scatters that are laid out otherwise. Updates stay atomic.
    #[must_use]
    pub fn with_scatters(mut self, scatters: Scatters) -> Self {
        self.scatters = scatters;
        self
    }
}

impl Executable for InterpreterExecutable {
    unsafe fn run_polled(&self, lanes: Range<u64>, arguments: &[RawArgument], poll: Poll<'_>) {
        if lanes.is_empty() {
            return;
        }
        assert_eq!(arguments.len(), self.kernel.params.len(), "one argument for each parameter");
        // SAFETY: the caller keeps the promises of `Executable::run`, which are those of `Frame::new`.
        let mut frame = unsafe { Frame::new(&self.kernel, arguments, self.block, self.scatters, poll) };
        frame.run(lanes);
    }

    fn lanes_per_step(&self) -> usize {
        self.block
    }

    fn code_bytes(&self) -> usize {
        0
    }
}

#[cfg(test)]
mod tests;
