//! The executable specification: runs kernels directly, without code generation.
//!
//! Every other backend is tested against this one, and programs run on it if there is no compiler. It accepts any valid
//! kernel, before or after the passes. Lanes are processed in blocks: each value is a column of carriers, one for each
//! lane of the block, and each operation is one pass over columns by a function of [`scalar`](crate::ir::scalar).
//! Inactive lanes still compute, which is not observable, but they touch no memory and retain their loop state.

mod frame;
mod memory;
mod origins;

use std::ops::Range;
use std::sync::Arc;

use super::{Executable, RawArgument, Scatters};
use crate::cancel::Poll;
use crate::ir::Kernel;
use frame::Frame;
pub use origins::{NotFinite, Observer, is_finite, is_nan};

/// The maximum number of lanes that are processed together.
const MAX_BLOCK: usize = 256;

/// The minimum, unless a launch has fewer lanes.
const MIN_BLOCK: usize = 16;

/// The maximum number of carriers in the columns of a block, as far as the minimum block size allows: they should fit
/// into the cache.
const COLUMN_BUDGET: usize = 1 << 16;

/// A kernel prepared for interpretation.
#[derive(Debug)]
pub struct InterpreterExecutable {
    kernel: Kernel,
    block: usize,
    scatters: Scatters,
    observer: Option<Arc<Observer>>,
}

/// Prepares a valid kernel for interpretation.
#[must_use]
pub fn prepare(kernel: Kernel) -> InterpreterExecutable {
    let columns = kernel.types.len() + kernel.locals.iter().map(|local| local.len as usize).sum::<usize>();
    let block = (COLUMN_BUDGET / columns.max(1)).clamp(MIN_BLOCK, MAX_BLOCK);
    // A power of two, so that blocks divide the chunks of reductions.
    let block = 1 << block.ilog2();
    InterpreterExecutable { kernel, block, scatters: Scatters::Shared, observer: None }
}

impl InterpreterExecutable {
    /// The same for targets of reducing scatters with another layout. Updates remain atomic.
    #[must_use]
    pub fn with_scatters(mut self, scatters: Scatters) -> Self {
        self.scatters = scatters;
        self
    }

    /// The same, with an observer that is told where values that are not finite come from.
    #[must_use]
    pub fn with_observer(mut self, observer: Arc<Observer>) -> Self {
        self.observer = Some(observer);
        self
    }
}

impl Executable for InterpreterExecutable {
    unsafe fn run_polled(&self, lanes: Range<u64>, arguments: &[RawArgument], poll: Poll<'_>) {
        if lanes.is_empty() {
            return;
        }
        assert_eq!(arguments.len(), self.kernel.params.len(), "one argument for each parameter");
        // SAFETY: the caller guarantees the conditions of `Executable::run`, which are those of `Frame::new`.
        let mut frame = unsafe { Frame::new(&self.kernel, arguments, self.block, self.scatters, poll) };
        if let Some(observer) = &self.observer {
            frame.observe(observer);
        }
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
