//! Runs lanes of a launch on the current thread, and combines partial results of reductions.
//!
//! Reductions are computed in chunks of [`reduce_chunk`] lanes, with one partial result each. These are combined in
//! pairs when all lanes are done. The result does not depend on which thread computed which chunk, or when. Chunks
//! restart with each block that is reduced separately.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::permute;
use super::private::PrivateTargets;
use crate::Error;
use crate::backend::RawArgument;
use crate::cache::Entry;
use crate::cache::cost::{Division, Estimate};
use crate::cancel::Poll;
use crate::config::Device;
use crate::ir::{ReduceOp, Type, reduce_chunk, scalar};
use crate::machine::{Argument, Checks};
use crate::memory::Buffer;

use super::private::MIN_UPDATES;
use crate::cache::determinism::is_deterministic;
use crate::cache::permuted::Permutations;
use crate::cache::transposed::Tiles;

/// Narrower launches take about as long as finding out which elements they move.
const MIN_MOVED_WIDTH: usize = 1024;

/// The argument table that the code receives.
pub(crate) type RawArguments = SmallVec<[RawArgument; 8]>;

/// The argument table of a launch, with the memory for partial results.
pub(super) struct Bound {
    raw: RawArguments,
    chunks: Chunks,
    partials: SmallVec<[Partial; 1]>,
    /// The private targets of scatters that threads do not share.
    private: Option<Box<PrivateTargets>>,
    checks: Option<Checks>,
    /// The order of the lanes; none for the usual one.
    tiles: Option<Tiles>,
    /// The elements that the launch moves, if it does so without running the code.
    permutations: Option<Box<Permutations>>,
}

/// The partial results of one reduction, one for each chunk.
struct Partial {
    param: usize,
    op: ReduceOp,
    ty: Type,
    /// The memory of the partial results; none if they are the results.
    memory: Option<Arc<Buffer>>,
    /// Where the results go.
    target: u64,
}

/// The division of the lanes of a launch with reductions: into blocks that are reduced to one element each, and these
/// into chunks.
#[derive(Clone, Copy, Debug)]
struct Chunks {
    width: usize,
    /// Whether all lanes are one block, even if there are none.
    is_whole: bool,
    /// The number of lanes of a block, except the last one.
    block: usize,
    /// The number of lanes of a chunk, except the last one of a block.
    chunk: usize,
    /// The number of chunks of a block, except the last one.
    per_block: usize,
}

impl Chunks {
    fn new(width: usize, block: Option<usize>) -> Chunks {
        let (is_whole, block) = (block.is_none(), block.unwrap_or(width).clamp(1, width.max(1)));
        let chunk = reduce_chunk(width, block);
        Chunks { width, is_whole, block, chunk, per_block: block.div_ceil(chunk) }
    }

    fn blocks(self) -> usize {
        self.width.div_ceil(self.block)
    }

    /// The chunks of a block, numbered across all blocks.
    fn of_block(self, block: usize) -> Range<usize> {
        let lanes = (self.width - block * self.block).min(self.block);
        let first = block * self.per_block;
        first..first + lanes.div_ceil(self.chunk)
    }

    /// How many there are.
    fn count(self) -> usize {
        self.blocks().checked_sub(1).map_or(0, |last| self.of_block(last).end)
    }

    /// The lanes of a chunk.
    fn lanes(self, chunk: usize) -> Range<u64> {
        let (block, position) = (chunk / self.per_block, chunk % self.per_block);
        let block_end = ((block + 1) * self.block).min(self.width);
        let start = block * self.block + position * self.chunk;
        start as u64..(start + self.chunk).min(block_end) as u64
    }
}

/// Makes the argument table of a launch that was checked.
pub(super) fn bind(entry: &Entry, width: usize, block: Option<usize>, arguments: &[Argument]) -> Result<Bound, Error> {
    bind_raw(entry, width, block, arguments.iter().map(Argument::raw).collect())
}

/// As [`bind`], for arguments that are already in the form that code receives.
pub(super) fn bind_raw(entry: &Entry, width: usize, block: Option<usize>, raw: RawArguments) -> Result<Bound, Error> {
    let chunks = Chunks::new(width, block);
    let units = || if entry.facts.reduces { chunks.count() } else { width };
    let private = PrivateTargets::bind(entry, width, units, &raw)?;
    let moves = entry.moves.as_ref().filter(|_| width >= MIN_MOVED_WIDTH);
    let permutations = moves.and_then(|moves| moves.permutations(&raw, width as u64)).map(Box::new);
    let reads = entry.transposed.as_ref().filter(|_| permutations.is_none());
    let tiles = reads.and_then(|reads| reads.tiles(&raw, width as u64));
    let mut bound = Bound { raw, chunks, partials: SmallVec::new(), private, checks: None, tiles, permutations };
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
            _ => Some(unsafe { Buffer::on_host(bound.chunks.count() * facts.ty.size_bytes(), Device::Cpu)? }),
        };
        let target = bound.raw[param].word;
        bound.partials.push(Partial { param, op, ty: facts.ty, memory, target });
    }
    Ok(())
}

/// Runs some lanes of a launch of some width.
///
/// # Safety
///
/// As for [`Executable::run`](crate::backend::Executable::run).
#[inline(always)]
pub(super) unsafe fn run_lanes(entry: &Entry, width: usize, lanes: Range<u64>, raw: &[RawArgument], poll: Poll<'_>) {
    // SAFETY: the caller's promise.
    unsafe { entry.executable_for(width, lanes.end - lanes.start, raw).run_polled(lanes, raw, poll) };
}

impl Bound {
    /// The units into which a launch may be divided: lanes, chunks if there are reductions, or rectangles of elements
    /// that are moved.
    pub(super) fn division(&self, entry: &Entry, estimate: Estimate, threads: usize) -> Division {
        let units = self.all().end as usize;
        if self.permutations.is_some() {
            return Division::of_chunks(units, estimate, threads);
        }
        if self.is_in_order(entry) {
            return Division::of_segments(units, units);
        }
        if let Some(segment) = self.private.as_ref().and_then(|private| private.segment_units()) {
            return Division::of_segments(units, segment as usize);
        }
        if let Some(tiles) = self.tiles {
            let lanes = tiles.lanes() as usize;
            return Division::of_segments(units, lanes.next_multiple_of(entry.facts.lanes_per_step.max(1)));
        }
        match self.partials.is_empty() {
            true => Division::of_lanes(self.chunks.width, estimate, entry.facts.lanes_per_step, threads),
            false => Division::of_chunks(self.chunks.count(), estimate, threads),
        }
    }

    /// Whether lanes have to run in their order, all on one thread: results depend on it, and nothing else fixes it.
    fn is_in_order(&self, entry: &Entry) -> bool {
        let is_cut = self.private.as_ref().is_some_and(|private| private.segment_units().is_some());
        let rounds = entry.shown.rounds && !is_cut;
        if is_deterministic() { entry.shown.places || rounds } else { rounds && self.is_narrow(entry) }
    }

    /// Whether one thread is as fast as several.
    fn is_narrow(&self, entry: &Entry) -> bool {
        self.chunks.width < MIN_UPDATES && !entry.facts.has_loop
    }

    /// All units of the launch.
    pub(super) fn all(&self) -> Range<u64> {
        if let Some(permutations) = &self.permutations {
            return 0..permutations.tiles();
        }
        0..(if self.partials.is_empty() { self.chunks.width } else { self.chunks.count() }) as u64
    }

    /// Lanes of the launch.
    pub(super) fn width(&self) -> usize {
        self.chunks.width
    }

    /// Runs some units of [`Bound::division`], or a part of them if the launch is cancelled. Fails if there is no
    /// memory for private targets.
    ///
    /// # Safety
    ///
    /// The arguments must have been checked and must live, and no other thread may access them in a way that conflicts,
    /// see [`crate::backend::Executable::run`].
    pub(super) unsafe fn run(&self, entry: &Entry, units: Range<u64>, poll: Poll<'_>) -> Result<(), Error> {
        if units.is_empty() {
            return Ok(());
        }
        if let Some(private) = &self.private {
            let mut raw = self.raw.clone();
            for units in private.parts(units) {
                let _lease = private.lease(units.start, &mut raw)?;
                // SAFETY: guaranteed by the caller. The targets in the table are exclusive while the lease lives, and
                // those of a segment belong to it alone.
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
        if let Some(permutations) = &self.permutations {
            for rectangle in units.take_while(|_| !poll.is_cancelled()).filter_map(|tile| permutations.rectangle(tile))
            {
                // SAFETY: guaranteed by the caller; what lanes read is in range, and lanes write what they own.
                unsafe { permute::transpose(&rectangle) };
            }
            return;
        }
        if let Some(tiles) = self.tiles {
            let code = entry.executable_for(self.chunks.width, units.end - units.start, raw);
            // SAFETY: guaranteed by the caller; units are lanes, whose order makes no difference.
            let run = |part| unsafe { code.run_polled(part, raw, poll) };
            return tiles.for_each_part(units, code.lanes_per_step().max(1) as u64, run);
        }
        if self.partials.is_empty() {
            // SAFETY: guaranteed by the caller; units are lanes.
            return unsafe { run_lanes(entry, self.chunks.width, units, raw, poll) };
        }
        let mut raw = raw.clone();
        for chunk in (units.start as usize..units.end as usize).take_while(|_| !poll.is_cancelled()) {
            for partial in &self.partials {
                raw[partial.param] = RawArgument { word: partial.address(chunk), length: 1 };
            }
            // SAFETY: guaranteed by the caller; the lanes are one chunk, whose results are written to a separate
            // element.
            unsafe { run_lanes(entry, self.chunks.width, self.chunks.lanes(chunk), &raw, poll) };
        }
    }

    /// The number of parts of the merge of private targets after all lanes have run.
    pub(super) fn merge_parts(&self) -> usize {
        self.private.as_ref().map_or(0, |private| private.merge_parts())
    }

    /// Runs one of these parts.
    ///
    /// # Safety
    ///
    /// All lanes must have run, no other thread may access the targets of scatters, and each part must run once.
    pub(super) unsafe fn merge(&self, part: usize) {
        if let Some(private) = &self.private {
            // SAFETY: the caller's promise.
            unsafe { private.merge(part) };
        }
    }

    /// Combines partial results after all lanes have run.
    ///
    /// # Safety
    ///
    /// All lanes must have run, and no other thread may access the targets of reductions.
    pub(super) unsafe fn finish(&self) {
        self.private.iter().for_each(|private| private.release());
        for partial in &self.partials {
            // SAFETY: all chunks were written, and the targets are exclusive.
            unsafe { partial.finish(self.chunks) };
        }
    }

    /// Sets the checks, which read the kernel's notes.
    pub(super) fn set_checks(&mut self, checks: Option<Checks>) {
        self.checks = checks;
    }

    /// Whether all checks of the kernel passed.
    ///
    /// # Safety
    ///
    /// As for [`Bound::finish`], and all parts must have been merged.
    pub(super) unsafe fn check(&self) -> Result<(), Error> {
        let Some(checks) = &self.checks else { return Ok(()) };
        // SAFETY: the arguments of checks have the elements that are read, and no thread writes them any more.
        checks.outcome(|argument, ty, index| unsafe { read_element(self.raw[argument].word, ty, index) })
    }
}

impl Partial {
    /// The address for the result of a chunk.
    fn address(&self, chunk: usize) -> u64 {
        let first = self.memory.as_ref().map_or(self.target, |memory| memory.address());
        first + (chunk * self.ty.size_bytes()) as u64
    }

    /// # Safety
    ///
    /// All chunks must have been written; the target must have room for the result of each block, and be exclusive.
    unsafe fn finish(&self, chunks: Chunks) {
        if chunks.width == 0 && chunks.is_whole {
            let identity = scalar::identity(self.op, self.ty);
            // SAFETY: the caller's promise.
            unsafe { write_element(self.target, self.ty, 0, identity) };
        }
        let Some(memory) = &self.memory else { return };
        // SAFETY: there is an element for each chunk.
        let element = |chunk| unsafe { read_element(memory.address(), self.ty, chunk) };
        let mut parts = SmallVec::<[u64; 64]>::with_capacity(chunks.per_block);
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
/// There must be an element of the type at the index, counted from the address.
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
/// There must be room for an element of the type at the index, counted from the address, and no other thread may access
/// it.
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
