//! Running lanes of a launch on the current thread, and putting partial results of reductions together.
//!
//! Reductions are computed in chunks of [`REDUCE_CHUNK`] lanes, one partial result each, which are combined in ascending order
//! when all lanes are done. Which thread computed which chunk, and when, changes nothing.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::Error;
use crate::backend::RawArgument;
use crate::cache::Entry;
use crate::ir::{REDUCE_CHUNK, ReduceOp, Type, scalar};
use crate::memory::Buffer;

use super::Argument;
use super::private::PrivateTargets;

/// The argument table that code sees.
pub(super) type RawArguments = SmallVec<[RawArgument; 8]>;

/// The argument table of a launch, with the memory for partial results.
pub(super) struct Bound {
    raw: RawArguments,
    partials: SmallVec<[Partial; 1]>,
    /// What threads combine into, where they don't share the targets of scatters.
    private: Option<PrivateTargets>,
    width: usize,
}

/// One partial result for each chunk of the lanes.
struct Partial {
    op: ReduceOp,
    ty: Type,
    /// Holds the partial results; none where the only one is the result.
    chunks: Option<Arc<Buffer>>,
    /// Where the result goes.
    target: u64,
}

/// Makes the argument table of a launch that was checked.
pub(super) fn bind(entry: &Entry, width: usize, arguments: &[Argument]) -> Result<Bound, Error> {
    let raw: RawArguments = arguments.iter().map(Argument::raw).collect();
    let private = PrivateTargets::bind(entry, &raw)?;
    let mut bound = Bound { raw, partials: SmallVec::new(), private, width };
    if entry.facts.reduces {
        bind_reductions(entry, &mut bound)?;
    }
    Ok(bound)
}

fn bind_reductions(entry: &Entry, bound: &mut Bound) -> Result<(), Error> {
    let chunk_count = bound.width.div_ceil(REDUCE_CHUNK);
    for (raw, param) in bound.raw.iter_mut().zip(&entry.facts.params) {
        let Some(op) = param.reduction else { continue };
        let mut partial = Partial { op, ty: param.ty, chunks: None, target: raw.word };
        if chunk_count > 1 {
            let chunks = Buffer::alloc(chunk_count * param.ty.size_bytes())?;
            *raw = RawArgument { word: chunks.address(), length: chunk_count as u64 };
            partial.chunks = Some(chunks);
        }
        bound.partials.push(partial);
    }
    Ok(())
}

impl Bound {
    /// Runs the lanes of a range. Fails without memory for private targets.
    ///
    /// # Safety
    ///
    /// The arguments were checked, live, and nobody else accesses them in a way that conflicts, see
    /// [`crate::backend::Executable::run`]. With reductions, the range starts at a whole chunk.
    pub(super) unsafe fn run(&self, entry: &Entry, lanes: Range<u64>) -> Result<(), Error> {
        if lanes.is_empty() {
            return Ok(());
        }
        if let Some(private) = &self.private {
            let (_lease, raw) = private.lease(&self.raw)?;
            // SAFETY: the caller's promise; the targets in the table are ours while the lease lives.
            unsafe { self.run_with(entry, lanes, &raw) };
        } else {
            // SAFETY: the caller's promise.
            unsafe { self.run_with(entry, lanes, &self.raw) };
        }
        Ok(())
    }

    /// # Safety
    ///
    /// As for [`Bound::run`], for the arguments of this table.
    unsafe fn run_with(&self, entry: &Entry, lanes: Range<u64>, raw: &RawArguments) {
        if self.partials.is_empty() {
            // SAFETY: the caller's promise.
            return unsafe { entry.executable.run(lanes, raw) };
        }
        let mut start = lanes.start;
        while start < lanes.end {
            let end = (start + REDUCE_CHUNK as u64).min(lanes.end);
            // SAFETY: the caller's promise; the range lies in one chunk as it starts at one.
            unsafe { entry.executable.run(start..end, raw) };
            start = end;
        }
    }

    /// Parts of the work that is left to be done for private targets after all lanes ran.
    pub(super) fn merge_parts(&self) -> usize {
        self.private.as_ref().map_or(0, PrivateTargets::merge_parts)
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
        self.private.iter().for_each(PrivateTargets::release);
        for partial in &self.partials {
            if self.width == 0 {
                let identity = scalar::identity(partial.op, partial.ty);
                // SAFETY: the target holds an element, and it is ours.
                unsafe { write_element(partial.target, partial.ty, 0, identity) };
            } else if let Some(chunks) = &partial.chunks {
                // SAFETY: all chunks were written, and the target holds an element that is ours.
                unsafe { combine(partial, chunks.address(), self.width.div_ceil(REDUCE_CHUNK)) };
            }
        }
    }
}

/// # Safety
///
/// There are `count` elements at `chunks`, and one at the target, which is ours.
unsafe fn combine(partial: &Partial, chunks: u64, count: usize) {
    // SAFETY: there are `count` elements, the caller's promise.
    let element = |index| unsafe { read_element(chunks, partial.ty, index) };
    let total = (1..count).fold(element(0), |sum, index| scalar::reduce(partial.op, partial.ty, sum, element(index)));
    // SAFETY: the caller's promise.
    unsafe { write_element(partial.target, partial.ty, 0, total) };
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
