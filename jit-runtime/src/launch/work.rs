//! What a launch does, and which buffers it accesses: the part in which kernels and library calls differ.

use std::sync::Arc;

use super::run::Bound;
use super::{Argument, Ready};
use crate::Error;
use crate::cache::Entry;
use crate::cache::cost::Division;
use crate::cancel::Poll;
use crate::memory::Buffer;

/// The work of a launch, in blocks that any thread may run.
pub(super) trait Work: Send + Sync {
    /// Runs a block, or a part of it if the launch is cancelled. Fails where memory is missing.
    ///
    /// # Safety
    ///
    /// Each block runs once. The buffers live, and nobody else accesses them in a way that conflicts.
    unsafe fn run(&self, block: usize, poll: Poll<'_>) -> Result<(), Error>;

    /// Notes that a block does not run, because the launch has failed. Blocks that wait for it must not wait for ever.
    fn skip(&self, _block: usize) {}

    /// Parts of the work that is left when all blocks ran, which may be done at the same time.
    fn merge_parts(&self) -> usize {
        0
    }

    /// Does one of these parts.
    ///
    /// # Safety
    ///
    /// All blocks ran, the buffers are still reserved for the launch, and each part is done once.
    unsafe fn merge(&self, _part: usize) {}

    /// What is to be done when all blocks ran and all parts are merged.
    ///
    /// # Safety
    ///
    /// All blocks ran, and the buffers are still reserved for the launch.
    unsafe fn finish(&self);

    /// Whether the work, now finished, was what it should be: the last chance to fail.
    ///
    /// # Safety
    ///
    /// As for [`Work::finish`].
    unsafe fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Learns how long the launch took.
    fn learn(&self, busy_ns: u64);
}

/// A buffer, and what a launch does with it.
pub(super) struct Accessed {
    pub(super) buffer: Arc<Buffer>,
    pub(super) reads: bool,
    pub(crate) writes: bool,
}

/// As [`Accessed`], borrowed.
#[derive(Clone, Copy)]
pub(crate) struct Access<'a> {
    pub(crate) buffer: &'a Buffer,
    pub(crate) writes: bool,
}

/// A kernel to be run over the lanes of a launch.
pub(super) struct KernelWork {
    pub(super) entry: Arc<Entry>,
    pub(super) bound: Bound,
    pub(super) division: Division,
}

impl Work for KernelWork {
    unsafe fn run(&self, block: usize, poll: Poll<'_>) -> Result<(), Error> {
        // SAFETY: the arguments were checked; the rest is the caller's promise.
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

impl Ready {
    /// The buffers of the launch, without counting references.
    pub(super) fn accesses(&self) -> impl Iterator<Item = Access<'_>> + Clone {
        self.entry.facts.params.iter().zip(&self.arguments).filter_map(|(param, argument)| match argument {
            Argument::Buffer(buffer, _) => Some(Access { buffer, writes: param.writes }),
            Argument::Scalar(_) => None,
        })
    }

    /// The buffers of the launch.
    pub(super) fn into_accessed(self) -> Vec<Accessed> {
        let params = self.entry.facts.params.iter();
        let each = params.zip(self.arguments).filter_map(|(param, argument)| match argument {
            Argument::Buffer(buffer, _) => Some(Accessed { buffer, reads: param.reads, writes: param.writes }),
            Argument::Scalar(_) => None,
        });
        each.collect()
    }
}
