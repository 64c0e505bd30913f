//! The work of a launch: the part in which kernels and library calls differ.

use std::sync::Arc;

use super::run::Bound;
use crate::Error;
use crate::cache::Entry;
use crate::cache::cost::Division;
use crate::cancel::Poll;

/// The work of a launch, in blocks that any thread may run.
pub(super) trait Work: Send + Sync {
    /// Runs a block, or a part of it if the launch is cancelled. Fails if memory is missing.
    ///
    /// # Safety
    ///
    /// Each block must run once. The buffers must live, and no other thread may access them in a way that conflicts.
    unsafe fn run(&self, block: usize, poll: Poll<'_>) -> Result<(), Error>;

    /// Records that a block does not run because the launch has failed. Blocks that wait for it must not wait forever.
    fn skip(&self, _block: usize) {}

    /// The number of parts of the work that remain when all blocks have run; they may run in parallel.
    fn merge_parts(&self) -> usize {
        0
    }

    /// Runs one of these parts.
    ///
    /// # Safety
    ///
    /// All blocks must have run, the buffers must still be reserved for the launch, and each part must run once.
    unsafe fn merge(&self, _part: usize) {}

    /// Finishes the work after all blocks have run and all parts are merged.
    ///
    /// # Safety
    ///
    /// All blocks must have run, and the buffers must still be reserved for the launch.
    unsafe fn finish(&self);

    /// Whether the finished work passed its checks: the last opportunity to fail.
    ///
    /// # Safety
    ///
    /// As for [`Work::finish`].
    unsafe fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Records how long the launch took.
    fn learn(&self, busy_ns: u64);
}

/// A kernel to run over the lanes of a launch.
pub(super) struct KernelWork {
    pub(super) entry: Arc<Entry>,
    pub(super) bound: Bound,
    pub(super) division: Division,
}

impl Work for KernelWork {
    unsafe fn run(&self, block: usize, poll: Poll<'_>) -> Result<(), Error> {
        // SAFETY: the arguments were checked; the rest is guaranteed by the caller.
        unsafe { self.bound.run(&self.entry, self.division.units(block), poll) }
    }

    fn merge_parts(&self) -> usize {
        self.bound.merge_parts()
    }

    unsafe fn merge(&self, part: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.bound.merge(part) };
    }

    unsafe fn finish(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.bound.finish() };
    }

    unsafe fn check(&self) -> Result<(), Error> {
        // SAFETY: the caller's promise.
        unsafe { self.bound.check() }
    }

    fn learn(&self, busy_ns: u64) {
        self.entry.cost.learn(self.bound.width(), busy_ns);
        self.entry.ran(busy_ns);
    }
}
