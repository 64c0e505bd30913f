//! Running lanes of a launch on the current thread, and putting partial results of reductions together.
//!
//! Reductions are computed in chunks of [`REDUCE_CHUNK`] lanes, one partial result each, which are combined in pairs
//! when all lanes are done. Which thread computed which chunk, and when, changes nothing. Chunks begin anew with each
//! block that is reduced on its own.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::private::PrivateTargets;
use super::{Argument, Checks};
use crate::Error;
use crate::backend::RawArgument;
use crate::cache::Entry;
use crate::cache::cost::{Division, Estimate};
use crate::cancel::Poll;
use crate::ir::{REDUCE_CHUNK, ReduceOp, Type, scalar};
use crate::memory::Buffer;

use super::private::MIN_WIDTH;
use crate::cache::determinism::is_deterministic;
/// The argument table that code sees.
pub(crate) type RawArguments = SmallVec<[RawArgument; 8]>;

/// The argument table of a launch, with the memory for partial results.
pub(super) struct Bound {
    raw: RawArguments,
    chunks: Chunks,
    partials: SmallVec<[Partial; 1]>,
    /// What threads combine into, where they don't share the targets of scatters.
    private: Option<Box<PrivateTargets>>,
    checks: Option<Checks>,
}

/// The partial results of one reduction, one for each chunk.
struct Partial {
    param: usize,
    op: ReduceOp,
    ty: Type,
    /// Holds the partial results; none where they are the results.
    memory: Option<Arc<Buffer>>,
    /// Where the results go.
    target: u64,
}

/// How the lanes of a launch with reductions are cut: into blocks that are reduced to one element each, and these into
/// chunks.
#[derive(Clone, Copy, Debug)]
struct Chunks {
    width: usize,
    /// All lanes are one block, even if there are none.
    is_whole: bool,
    /// Lanes of a block, but for the last one.
    block: usize,
    /// Chunks of a block, but for the last one.
    per_block: usize,
}

impl Chunks {
    fn new(width: usize, block: Option<usize>) -> Chunks {
        let (is_whole, block) = (block.is_none(), block.unwrap_or(width).clamp(1, width.max(1)));
        Chunks { width, is_whole, block, per_block: block.div_ceil(REDUCE_CHUNK) }
    }

    fn blocks(self) -> usize {
        self.width.div_ceil(self.block)
    }

    /// The chunks of a block, by their number among all.
    fn of_block(self, block: usize) -> Range<usize> {
        let lanes = (self.width - block * self.block).min(self.block);
        let first = block * self.per_block;
        first..first + lanes.div_ceil(REDUCE_CHUNK)
    }

    /// How many there are.
    fn count(self) -> usize {
        self.blocks().checked_sub(1).map_or(0, |last| self.of_block(last).end)
    }

    /// The lanes of a chunk.
    fn lanes(self, chunk: usize) -> Range<u64> {
        let (block, position) = (chunk / self.per_block, chunk % self.per_block);
        let block_end = ((block + 1) * self.block).min(self.width);
        let start = block * self.block + position * REDUCE_CHUNK;
        start as u64..(start + REDUCE_CHUNK).min(block_end) as u64
    }
}

/// Makes the argument table of a launch that was checked.
pub(super) fn bind(entry: &Entry, width: usize, block: Option<usize>, arguments: &[Argument]) -> Result<Bound, Error> {
    bind_raw(entry, width, block, arguments.iter().map(Argument::raw).collect())
}

/// As [`bind`], of arguments that are in the form that code sees.
pub(super) fn bind_raw(entry: &Entry, width: usize, block: Option<usize>, raw: RawArguments) -> Result<Bound, Error> {
    let chunks = Chunks::new(width, block);
    let units = || if entry.facts.reduces { chunks.count() } else { width };
    let private = PrivateTargets::bind(entry, width, units, &raw)?;
    let mut bound = Bound { raw, chunks, partials: SmallVec::new(), private, checks: None };
    if entry.facts.reduces {
        bind_reductions(entry, &mut bound)?;
    }
    Ok(bound)
}

fn bind_reductions(entry: &Entry, bound: &mut Bound) -> Result<(), Error> {
    for (param, facts) in entry.facts.params.iter().enumerate() {
        let Some(op) = facts.reduction else { continue };
        let memory = match bound.chunks.per_block {
            1 => None,
            // SAFETY: each chunk writes its result before they are combined.
            _ => Some(unsafe { Buffer::alloc_uninit(bound.chunks.count() * facts.ty.size_bytes())? }),
        };
        let target = bound.raw[param].word;
        bound.partials.push(Partial { param, op, ty: facts.ty, memory, target });
    }
    Ok(())
}

impl Bound {
    /// What a launch may be divided into: lanes, or chunks where there are reductions.
    pub(super) fn division(&self, entry: &Entry, estimate: Estimate, threads: usize) -> Division {
        let units = self.all().end as usize;
        if self.is_in_order(entry) {
            return Division::of_segments(units, units);
        }
        if let Some(segment) = self.private.as_ref().and_then(|private| private.segment_units()) {
            return Division::of_segments(units, segment as usize);
        }
        match self.partials.is_empty() {
            true => Division::of_lanes(self.chunks.width, estimate, entry.facts.lanes_per_step, threads),
            false => Division::of_chunks(self.chunks.count(), estimate, threads),
        }
    }

    /// Whether lanes have to run in their order, all on one thread: results show it, and nothing else fixes them.
    fn is_in_order(&self, entry: &Entry) -> bool {
        let is_cut = self.private.as_ref().is_some_and(|private| private.segment_units().is_some());
        let rounds = entry.shown.rounds && !is_cut;
        if is_deterministic() { entry.shown.places || rounds } else { rounds && self.is_narrow(entry) }
    }

    /// Whether nothing is lost on one thread.
    fn is_narrow(&self, entry: &Entry) -> bool {
        self.chunks.width < MIN_WIDTH && !entry.has_loop
    }

    /// All units of the launch.
    pub(super) fn all(&self) -> Range<u64> {
        0..(if self.partials.is_empty() { self.chunks.width } else { self.chunks.count() }) as u64
    }

    /// Lanes of the launch.
    pub(super) fn width(&self) -> usize {
        self.chunks.width
    }

    /// Runs some units of [`Bound::division`], or a part of them if the launch is cancelled. Fails without memory for
    /// private targets.
    ///
    /// # Safety
    ///
    /// The arguments were checked, live, and nobody else accesses them in a way that conflicts, see
    /// [`crate::backend::Executable::run`].
    pub(super) unsafe fn run(&self, entry: &Entry, units: Range<u64>, poll: Poll<'_>) -> Result<(), Error> {
        if units.is_empty() {
            return Ok(());
        }
        if let Some(private) = &self.private {
            let mut raw = self.raw.clone();
            for units in private.parts(units) {
                let _lease = private.lease(units.start, &mut raw)?;
                // SAFETY: the caller's promise; the targets in the table are ours while the lease lives, and those of a
                // segment are nobody else's.
                unsafe { self.run_with(entry, units, &raw, poll) };
            }
        } else {
            // SAFETY: the caller's promise.
            unsafe { self.run_with(entry, units, &self.raw, poll) };
        }
        Ok(())
    }

    /// # Safety
    ///
    /// As for [`Bound::run`], for the arguments of this table.
    unsafe fn run_with(&self, entry: &Entry, units: Range<u64>, raw: &RawArguments, poll: Poll<'_>) {
        if self.partials.is_empty() {
            // SAFETY: the caller's promise; units are lanes.
            return unsafe { entry.executable(self.chunks.width).run_polled(units, raw, poll) };
        }
        let mut raw = raw.clone();
        for chunk in (units.start as usize..units.end as usize).take_while(|_| !poll.is_cancelled()) {
            for partial in &self.partials {
                raw[partial.param] = RawArgument { word: partial.address(chunk), length: 1 };
            }
            // SAFETY: the caller's promise; the lanes are one chunk, whose results have a place of their own.
            unsafe { entry.executable(self.chunks.width).run_polled(self.chunks.lanes(chunk), &raw, poll) };
        }
    }

    /// Parts of the work that is left to be done for private targets after all lanes ran.
    pub(super) fn merge_parts(&self) -> usize {
        self.private.as_ref().map_or(0, |private| private.merge_parts())
    }

    /// Does one of these parts.
    ///
    /// # Safety
    ///
    /// All lanes ran, nobody else accesses the targets of scatters, and each part is done once.
    pub(super) unsafe fn merge(&self, part: usize) {
        if let Some(private) = &self.private {
            // SAFETY: the caller's promise.
            unsafe { private.merge(part) };
        }
    }

    /// Combines partial results, after all lanes ran.
    ///
    /// # Safety
    ///
    /// All lanes ran, and nobody else accesses the targets of reductions.
    pub(super) unsafe fn finish(&self) {
        self.private.iter().for_each(|private| private.release());
        for partial in &self.partials {
            // SAFETY: all chunks were written, and the targets are ours.
            unsafe { partial.finish(self.chunks) };
        }
    }

    /// Reads what the kernel notes.
    pub(super) fn set_checks(&mut self, checks: Option<Checks>) {
        self.checks = checks;
    }

    /// Whether all that the kernel checked was right.
    ///
    /// # Safety
    ///
    /// As for [`Bound::finish`], and all parts were merged.
    pub(super) unsafe fn check(&self) -> Result<(), Error> {
        let Some(checks) = &self.checks else { return Ok(()) };
        // SAFETY: the arguments of checks have the elements that are read, and nobody writes them any more.
        checks.outcome(|argument, ty, index| unsafe { read_element(self.raw[argument].word, ty, index) })
    }
}

impl Partial {
    /// Where the result of a chunk goes.
    fn address(&self, chunk: usize) -> u64 {
        let first = self.memory.as_ref().map_or(self.target, |memory| memory.address());
        first + (chunk * self.ty.size_bytes()) as u64
    }

    /// # Safety
    ///
    /// All chunks were written; the target has room for the result of each block, and is ours.
    unsafe fn finish(&self, chunks: Chunks) {
        if chunks.width == 0 && chunks.is_whole {
            let identity = scalar::identity(self.op, self.ty);
            // SAFETY: the caller's promise.
            unsafe { write_element(self.target, self.ty, 0, identity) };
        }
        let Some(memory) = &self.memory else { return };
        // SAFETY: there is an element for each chunk.
        let element = |chunk| unsafe { read_element(memory.address(), self.ty, chunk) };
        let mut parts = Vec::with_capacity(chunks.per_block);
        for block in 0..chunks.blocks() {
            parts.clear();
            parts.extend(chunks.of_block(block).map(element));
            let total = scalar::reduce_in_pairs(self.op, self.ty, &mut parts);
            // SAFETY: the caller's promise.
            unsafe { write_element(self.target, self.ty, block, total) };
        }
    }
}

/// # Safety
///
/// There is an element of the type at the index from the address on.
unsafe fn read_element(address: u64, ty: Type, index: usize) -> u64 {
    // SAFETY: each cast has the size of the type; buffers are aligned for all of them.
    unsafe {
        match ty.size_bytes() {
            1 => u64::from((address as *const u8).add(index).read()),
            2 => u64::from((address as *const u16).add(index).read()),
            4 => u64::from((address as *const u32).add(index).read()),
            _ => (address as *const u64).add(index).read(),
        }
    }
}

/// # Safety
///
/// There is room for an element of the type at the index from the address on, and nobody else accesses it.
unsafe fn write_element(address: u64, ty: Type, index: usize, bits: u64) {
    // SAFETY: each cast has the size of the type; buffers are aligned for all of them.
    unsafe {
        match ty.size_bytes() {
            1 => (address as *mut u8).add(index).write(bits as u8),
            2 => (address as *mut u16).add(index).write(bits as u16),
            4 => (address as *mut u32).add(index).write(bits as u32),
            _ => (address as *mut u64).add(index).write(bits),
        }
    }
}

#[cfg(test)]
mod tests;
