//! Reducing scatters without atomic operations: threads combine into private targets, which are merged at the end.
//!
//! An atomic operation takes some five nanoseconds, and ten times that where threads contend for an element; a plain
//! one takes a fraction of one. So if a launch is wide enough for the targets, each participating thread gets a private
//! one, filled with the neutral value. Small targets have several neighbours for each element, since an update waits
//! for the previous one at the same address. Without neighbours, the first thread works on the result itself. At the
//! end the other targets are merged into it.
//!
//! Sums and products of floats depend on order and grouping. Their launches are instead cut into segments of lanes,
//! whose number follows from kernel and sizes alone, and each segment has its own target, whichever thread runs it.
//! Lanes of a segment are combined in their order, then segments are merged in theirs: neighbour by neighbour, and then
//! all neighbours of an element into the result. So neither the number of threads nor timing changes a bit.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use crate::sync::{Condvar, Mutex};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::pool;
use super::run::RawArguments;
use crate::Error;
use crate::backend::{self, CodeOptions, Executable, RawArgument, Scatters};
use crate::cache::Entry;
use crate::cache::determinism::{is_deterministic, is_rounded};
use crate::config::Device;
use crate::ir::{Access, BinaryOp, Builder, Kernel, Param, ReduceOp, Type, scalar};
use crate::machine::Argument;
use crate::memory::Buffer;

/// Launches without a loop and with fewer updates take a few microseconds either way, and one version of the code
/// should serve all of them.
pub(super) const MIN_UPDATES: usize = 4096;
/// The number of elements of all targets per update up to which filling and merging them costs less than atomic
/// operations...
const MAX_ELEMENTS_PER_UPDATE: usize = 4;
/// ...and in kernels with loops, in which each update stands for several.
const MAX_ELEMENTS_PER_UPDATE_IN_LOOPS: usize = 32;
/// The most bytes of all targets besides the results.
const MAX_BYTES: usize = 64 << 20;
/// Targets with neighbours should fit into the first-level cache, together with the kernel's inputs.
const MAX_NEIGHBOURS_BYTES: usize = 16 << 10;
/// The most neighbours for each element: the number of updates that are in flight at once.
const MAX_COPIES_LOG2: u8 = 3;
/// Neighbours of segments are gathered when they are merged: each should save waiting for this many updates.
const MIN_UPDATES_PER_NEIGHBOUR: usize = 4;
/// The number of elements that one thread merges at a time.
const MERGE_ELEMENTS: usize = 1 << 16;
/// The numbers of segments for launches that combine floats, most first: as many threads can take part.
const SEGMENTS: [usize; 4] = [16, 8, 4, 2];
/// The number of elements of all segments' targets per update, which have to be filled and merged by however few
/// threads: for many segments...
const MAX_SEGMENT_ELEMENTS_PER_UPDATE: usize = 1;
/// ...and for two, without which one thread would do all of the work.
const MAX_PAIR_ELEMENTS_PER_UPDATE: usize = 2;
/// Segments begin at a multiple of this many lanes, which is a multiple of the lanes that any code computes together...
const SEGMENT_STEP: usize = 64;
/// ...or of fewer, if lanes take so long that even few of them are divided.
const LONG_SEGMENT_STEP: usize = 16;

/// Chooses how the targets of a launch are updated.
pub(super) fn choose(kernel: &Kernel, width: usize, arguments: &[Argument]) -> Scatters {
    let is_target = |param: &Param| matches!(param, Param::Buffer { access: Access::ReadWrite, .. });
    if !kernel.params.iter().any(is_target) {
        return Scatters::Shared;
    }
    let work = Work { lanes: width, updates_per_lane: kernel.combining_scatters(), has_loop: kernel.has_loop() };
    if work.is_little() && !work.has_loop {
        return Scatters::Shared;
    }
    let combined = kernel.combined_buffers();
    let each = || kernel.params.iter().zip(arguments).zip(&combined);
    let targets = each().filter(|(_, op)| op.is_some());
    let sizes: Sizes = targets.map(|((param, argument), _)| (argument.elements(), param.ty().size_bytes())).collect();
    if each().any(|((param, _), op)| op.is_some_and(|op| is_rounded(op, param.ty()))) {
        for_segments(&sizes, work)
    } else if work.is_little() {
        Scatters::Shared
    } else {
        for_sizes(&sizes, work, pool::threads())
    }
}

/// What a launch does to its targets.
#[derive(Clone, Copy, Debug)]
struct Work {
    lanes: usize,
    /// The scatters of a lane, those in loops counted once.
    updates_per_lane: usize,
    has_loop: bool,
}

impl Work {
    fn updates(self) -> usize {
        self.lanes.saturating_mul(self.updates_per_lane)
    }

    fn is_little(self) -> bool {
        self.updates() < MIN_UPDATES
    }

    /// The number of elements of private targets that may be filled and merged, at some number for each update.
    fn elements(self, per_update: usize) -> usize {
        let per_update = if self.has_loop { MAX_ELEMENTS_PER_UPDATE_IN_LOOPS } else { per_update };
        self.updates().saturating_mul(per_update)
    }

    /// The minimum number of lanes of a segment.
    fn min_lanes(self) -> usize {
        match self.has_loop {
            true => LONG_SEGMENT_STEP,
            false => MIN_UPDATES.div_ceil(self.updates_per_lane.max(1)).max(SEGMENT_STEP),
        }
    }
}

/// What [`choose`] may return for a kernel besides [`Scatters::Shared`].
pub(super) fn choices(kernel: &Kernel) -> impl Iterator<Item = Scatters> {
    let is_combined = kernel.combined_buffers().iter().any(Option::is_some);
    (0..=MAX_COPIES_LOG2).filter(move |_| is_combined).map(|copies_log2| Scatters::Private { copies_log2 })
}

/// The number of elements of each target, and the size of one in bytes.
type Sizes = SmallVec<[(usize, usize); 2]>;

/// Elements and bytes of all targets.
fn total(sizes: &[(usize, usize)]) -> (usize, usize) {
    let elements = sizes.iter().fold(0_usize, |sum, (elements, _)| sum.saturating_add(*elements));
    let bytes = sizes.iter().fold(0_usize, |sum, (elements, size)| sum.saturating_add(elements.saturating_mul(*size)));
    (elements, bytes)
}

/// As [`for_sizes`], if results depend on the order of combination: the kernel and the sizes alone decide.
fn for_segments(sizes: &[(usize, usize)], work: Work) -> Scatters {
    let (elements, bytes) = total(sizes);
    if elements == 0 {
        return Scatters::Shared;
    }
    let count = segments(sizes, work, 0);
    let has_neighbours = |copies_log2: &u8| {
        // Neighbours help lanes that wait for each other, which those of long kernels do not.
        !work.has_loop
            && count > 1
            && bytes.saturating_mul(1 << copies_log2) <= MAX_NEIGHBOURS_BYTES
            && elements.saturating_mul(count << copies_log2) <= work.updates() / MIN_UPDATES_PER_NEIGHBOUR
    };
    if let Some(copies_log2) = (1..=MAX_COPIES_LOG2).rev().find(has_neighbours) {
        return Scatters::Private { copies_log2 };
    }
    // One segment is for launches that are too narrow to be cut, and for single-threaded runs: its lanes run in their
    // order.
    let is_one_thread_enough = work.lanes < 2 * work.min_lanes() || pool::threads() == 1 || is_deterministic();
    if count > 1 || is_one_thread_enough { Scatters::Private { copies_log2: 0 } } else { Scatters::Shared }
}

/// The number of segments into which a launch with targets of these sizes is cut.
fn segments(sizes: &[(usize, usize)], work: Work, copies_log2: u8) -> usize {
    let (elements, bytes) = total(sizes);
    let fits = |segments: &usize| {
        let per_update = match segments {
            2 => MAX_PAIR_ELEMENTS_PER_UPDATE,
            _ => MAX_SEGMENT_ELEMENTS_PER_UPDATE,
        };
        // Without neighbours, the first segment works on the result itself.
        let targets = if copies_log2 == 0 { segments - 1 } else { segments << copies_log2 };
        elements.saturating_mul(targets) <= work.elements(per_update)
            && bytes.saturating_mul(targets) <= MAX_BYTES
            && work.lanes >= segments * work.min_lanes()
    };
    SEGMENTS.into_iter().find(fits).unwrap_or(1)
}

/// The same for targets of some elements of some bytes each.
fn for_sizes(sizes: &[(usize, usize)], work: Work, threads: usize) -> Scatters {
    let (elements, bytes) = total(sizes);
    if elements == 0 {
        return Scatters::Shared;
    }
    let fits = |targets: usize| {
        elements.saturating_mul(targets) <= work.elements(MAX_ELEMENTS_PER_UPDATE)
            && bytes.saturating_mul(targets) <= MAX_BYTES
    };
    for copies_log2 in (1..=MAX_COPIES_LOG2).rev() {
        let neighbours = 1 << copies_log2;
        if bytes.saturating_mul(neighbours) <= MAX_NEIGHBOURS_BYTES && fits(threads * neighbours) {
            return Scatters::Private { copies_log2 };
        }
    }
    if fits(threads - 1) { Scatters::Private { copies_log2: 0 } } else { Scatters::Shared }
}

/// The targets of a launch whose code updates them by plain operations.
pub(super) struct PrivateTargets {
    targets: SmallVec<[Target; 1]>,
    /// Whether the first set is the results themselves, which is the case if elements have no neighbours.
    starts_with_result: bool,
    /// The number of neighbours for each element, including itself.
    group: usize,
    sets: usize,
    /// The number of units of the launch in a segment, which has the set of its number; none if threads may have any
    /// set.
    segment_units: Option<u64>,
    state: Mutex<State>,
    /// A set came back.
    returned: Condvar,
}

/// One buffer that is combined into.
struct Target {
    param: usize,
    ty: Type,
    /// The value that changes no value that it is combined with.
    neutral: u64,
    /// Whether the result depends on the order of combination.
    is_rounded: bool,
    elements: usize,
    /// Elements with their neighbours.
    slots: usize,
    result: u64,
    /// Combines the neighbours of each element into the result.
    merge: Arc<dyn Executable>,
    /// Combines one set into another one, if elements have neighbours: gathering those takes longest, and is then done
    /// only once.
    join: Option<Arc<dyn Executable>>,
}

/// One buffer for each target.
type Memory = SmallVec<[Arc<Buffer>; 1]>;

/// The address of one target's memory in each set.
type Addresses = SmallVec<[u64; SEGMENTS[0]]>;

/// The sets of targets that have been leased.
struct State {
    /// Sets that have been leased, or that segments may have, from 0 on, with their memory; none for the results
    /// themselves.
    used: Vec<Option<Memory>>,
    free: Vec<usize>,
}

/// A set of targets that one thread may update.
pub(super) struct Lease<'a> {
    targets: &'a PrivateTargets,
    set: usize,
}

impl PrivateTargets {
    /// Creates the targets of a launch, if its code needs any.
    pub(super) fn bind(
        entry: &Entry,
        width: usize,
        units: impl FnOnce() -> usize,
        raw: &RawArguments,
    ) -> Result<Option<Box<PrivateTargets>>, Error> {
        let Scatters::Private { copies_log2 } = entry.options.scatters else { return Ok(None) };
        let units = units();
        let starts_with_result = copies_log2 == 0;
        let mut targets: SmallVec<[Target; 1]> = SmallVec::new();
        for (param, facts) in entry.facts.params.iter().enumerate() {
            let Some(op) = facts.combined else { continue };
            let elements = raw[param].length as usize;
            targets.push(Target {
                param,
                ty: facts.ty,
                neutral: neutral(op, facts.ty),
                is_rounded: is_rounded(op, facts.ty),
                elements,
                slots: elements << copies_log2,
                result: raw[param].word,
                merge: merge_code(entry.facts.device, op, facts.ty, copies_log2)?,
                join: match copies_log2 {
                    0 => None,
                    _ => Some(merge_code(entry.facts.device, op, facts.ty, 0)?),
                },
            });
        }
        let is_cut = targets.iter().any(|target| target.is_rounded);
        let segment_units = is_cut.then(|| {
            let sizes: Sizes = targets.iter().map(|target| (target.elements, target.ty.size_bytes())).collect();
            let facts = &entry.facts;
            let (updates_per_lane, has_loop) = (facts.combining_scatters, facts.has_loop);
            let count = segments(&sizes, Work { lanes: width, updates_per_lane, has_loop }, copies_log2);
            let step = match (facts.reduces, has_loop) {
                (true, _) => 1,
                (false, true) => LONG_SEGMENT_STEP,
                (false, false) => SEGMENT_STEP,
            };
            units.div_ceil(count).next_multiple_of(step).max(1) as u64
        });
        let sets = segment_units.map_or_else(pool::threads, |each| (units as u64).div_ceil(each) as usize);
        let state = State { used: vec![None; if is_cut { sets } else { 0 }], free: Vec::new() };
        let (state, returned) = (Mutex::new(state), Condvar::new());
        let group = 1 << copies_log2;
        let private = PrivateTargets { targets, starts_with_result, group, sets, segment_units, state, returned };
        // Boxed, since most launches have none, and a large value would be moved.
        Ok(Some(Box::new(private)))
    }

    /// The number of units of the launch in a segment, if it is cut into segments.
    pub(super) fn segment_units(&self) -> Option<u64> {
        self.segment_units
    }

    /// Splits units into parts that may each update one set: segments, or all of them.
    pub(super) fn parts(&self, units: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let each = self.segment_units.unwrap_or(u64::MAX);
        let mut start = units.start;
        std::iter::from_fn(move || {
            let end = (start / each + 1).saturating_mul(each).min(units.end);
            (start < end).then(|| std::mem::replace(&mut start, end)..end)
        })
    }

    /// Leases a set of targets for some units, one of [`PrivateTargets::parts`], and enters it into the argument table.
    /// Waits if all are in use, which requires more threads than were meant to take part.
    pub(super) fn lease(&self, first_unit: u64, raw: &mut RawArguments) -> Result<Lease<'_>, Error> {
        let (set, is_fresh) = match self.segment_units {
            Some(each) => ((first_unit / each) as usize, true),
            None => self.take_set(),
        };
        let lease = Lease { targets: self, set };
        let needs_memory = is_fresh && (set > 0 || !self.starts_with_result);
        let fresh = if needs_memory { Some(self.allocate()?) } else { None };
        let mut state = self.state.lock();
        let memory = &mut state.used[set];
        if fresh.is_some() {
            *memory = fresh;
        }
        for (position, target) in self.targets.iter().enumerate() {
            raw[target.param].word = memory.as_ref().map_or(target.result, |memory| memory[position].address());
        }
        Ok(lease)
    }

    /// Returns the number of a set that is not in use, and whether it has never been used.
    fn take_set(&self) -> (usize, bool) {
        let mut state = self.state.lock();
        loop {
            if let Some(set) = state.free.pop() {
                return (set, false);
            }
            if state.used.len() < self.sets {
                state.used.push(None);
                return (state.used.len() - 1, true);
            }
            state = self.returned.wait(state);
        }
    }

    /// Allocates a new set, filled with the neutral value.
    fn allocate(&self) -> Result<Memory, Error> {
        let each = self.targets.iter().map(|target| {
            // One more group after the last one, for lanes that are out of range.
            let slots = target.slots + self.group;
            // SAFETY: all of it is written next.
            let memory = unsafe { Buffer::on_host(slots * target.ty.size_bytes(), Device::Cpu)? };
            // SAFETY: the memory has room for this many elements, and is not shared yet.
            unsafe { fill(memory.address(), target.ty, slots, target.neutral) };
            Ok(memory)
        });
        each.collect()
    }

    /// The number of parts of the merge, which may run in parallel. None if there is nothing to merge.
    pub(super) fn merge_parts(&self) -> usize {
        let is_merging = self.state.lock().used.iter().any(Option::is_some);
        let longest = self.targets.iter().map(|target| target.elements).max().unwrap_or(0);
        if is_merging { longest.div_ceil(MERGE_ELEMENTS) } else { 0 }
    }

    /// Merges the elements of one part into the results.
    ///
    /// # Safety
    ///
    /// All lanes must have run, no other thread may access the results, and no other call may merge this part.
    pub(super) unsafe fn merge(&self, part: usize) {
        for (position, target) in self.targets.iter().enumerate() {
            let start = (part * MERGE_ELEMENTS).min(target.elements);
            let end = (start + MERGE_ELEMENTS).min(target.elements);
            // The memory lives until it is released, after all parts are merged.
            let addresses = |memory: &Memory| memory[position].address();
            let sets: Addresses = self.state.lock().used.iter().flatten().map(addresses).collect();
            let memory = |&address: &u64| (address, target.slots);
            let result = (target.result, target.elements);
            match (&target.join, sets.split_first()) {
                (Some(join), Some((first, others))) => {
                    let slots = start * self.group..end * self.group;
                    // SAFETY: the arguments fit the kernels, and the sets belong to the launch, as the caller
                    // guarantees.
                    unsafe {
                        others.iter().for_each(|set| run(&**join, slots.clone(), memory(first), memory(set)));
                        run(&*target.merge, start..end, result, memory(first));
                    }
                }
                // SAFETY: as above.
                _ => sets.iter().for_each(|set| unsafe { run(&*target.merge, start..end, result, memory(set)) }),
            }
        }
    }

    /// Releases the memory after everything is merged.
    pub(super) fn release(&self) {
        self.state.lock().used.clear();
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if self.targets.segment_units.is_some() {
            return;
        }
        self.targets.state.lock().free.push(self.set);
        self.targets.returned.notify_one();
    }
}

/// Runs code of [`merge_code`] on some elements of a target and of its source, each passed as an address and a number
/// of elements.
///
/// # Safety
///
/// As for [`Executable::run`].
unsafe fn run(code: &dyn Executable, lanes: Range<usize>, target: (u64, usize), source: (u64, usize)) {
    let arguments = [target, source].map(|(word, length)| RawArgument { word, length: length as u64 });
    // SAFETY: the caller's promise.
    unsafe { code.run(lanes.start as u64..lanes.end as u64, &arguments) };
}

/// The neutral value, bit for bit: -0 in sums of floats, since `-0 + +0` is +0.
fn neutral(op: ReduceOp, ty: Type) -> u64 {
    match op {
        ReduceOp::Add if ty.is_float() => 1 << (ty.bits() - 1),
        op => scalar::identity(op, ty),
    }
}

type Key = (Device, ReduceOp, Type, u8);

/// Cache of the code for merging.
pub(in crate::machine) static CODE: LazyLock<Mutex<FxHashMap<Key, Arc<dyn Executable>>>> =
    LazyLock::new(Mutex::default);

/// Code that combines the neighbours of elements into a result.
fn merge_code(device: Device, op: ReduceOp, ty: Type, copies_log2: u8) -> Result<Arc<dyn Executable>, Error> {
    let key = (device, op, ty, copies_log2);
    if let Some(code) = CODE.lock().get(&key) {
        return Ok(Arc::clone(code));
    }
    let kernel = merge_kernel(op.as_binary(), ty, copies_log2);
    let code: Arc<dyn Executable> = backend::compile(device, &kernel, CodeOptions::default())?.into();
    Ok(Arc::clone(CODE.lock().entry(key).or_insert(code)))
}

fn merge_kernel(op: BinaryOp, ty: Type, copies_log2: u8) -> Kernel {
    let mut b = Builder::new();
    let (result, source) = (b.buffer(ty, Access::ReadWrite), b.buffer(ty, Access::Read));
    let mut value = b.load(result);
    if copies_log2 == 0 {
        let other = b.load(source);
        value = b.binary(op, value, other);
    } else {
        let lane = b.lane_index();
        let shift = b.constant(Type::U32, copies_log2.into());
        let first = b.binary(BinaryOp::Shl, lane, shift);
        for neighbour in 0..1 << copies_log2 {
            let neighbour = b.constant(Type::U32, neighbour);
            let index = b.binary(BinaryOp::Or, first, neighbour);
            let other = b.gather(source, index, None);
            value = b.binary(op, value, other);
        }
    }
    b.store(result, value);
    b.finish()
}

/// # Safety
///
/// There must be room for this many elements of the type at the address, and no other thread may access it.
unsafe fn fill(address: u64, ty: Type, elements: usize, bits: u64) {
    // SAFETY: each cast has the size of the type; buffers are aligned for all of them.
    unsafe {
        match ty.size_bytes() {
            1 => std::slice::from_raw_parts_mut(address as *mut u8, elements).fill(bits as u8),
            2 => std::slice::from_raw_parts_mut(address as *mut u16, elements).fill(bits as u16),
            4 => std::slice::from_raw_parts_mut(address as *mut u32, elements).fill(bits as u32),
            _ => std::slice::from_raw_parts_mut(address as *mut u64, elements).fill(bits),
        }
    }
}

#[cfg(test)]
mod tests;
