//! Lists of free blocks, one per size class, and statistics about them.
//!
//! Small blocks go through a thread-local list, so that allocating and freeing takes no lock. A thread retains few of
//! them and returns the rest, and all when it ends. Everything else is process-wide, since buffers move between
//! threads.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::fork::Held;
use crate::sync::{Mutex, persist};

use super::block::{Block, reserved_bytes};
use super::devices::{self, DeviceMemory};
use super::limit::available_bytes;
use super::reclaim;
use super::size_class::{CLASS_COUNT, SizeClass};

/// Blocks up to this size are retained by threads.
const LOCAL_MAX_BYTES: usize = 32 << 10;
/// The bytes of one class that a thread retains.
const LOCAL_CLASS_BYTES: usize = 64 << 10;
/// The most blocks of one class that a thread retains, however small.
const LOCAL_CLASS_BLOCKS: usize = 32;
/// Classes up to [`LOCAL_MAX_BYTES`].
const LOCAL_CLASSES: usize = 56;

static FREE: [Mutex<Vec<Block>>; CLASS_COUNT] = [const { Mutex::new(Vec::new()) }; CLASS_COUNT];
static COUNTERS: Counters = Counters {
    live_bytes: AtomicUsize::new(0),
    peak_bytes: AtomicUsize::new(0),
    reserved_bytes: AtomicUsize::new(0),
    system_allocations: AtomicU64::new(0),
    trims: AtomicU64::new(0),
};
/// Incremented with each trim; a thread that observes a change empties its own lists.
static TRIM_EPOCH: AtomicU64 = AtomicU64::new(0);

struct Counters {
    live_bytes: AtomicUsize,
    peak_bytes: AtomicUsize,
    reserved_bytes: AtomicUsize,
    system_allocations: AtomicU64,
    trims: AtomicU64,
}

thread_local! {
    static LOCAL: RefCell<LocalLists> = const {
        RefCell::new(LocalLists { epoch: 0, lists: [const { Vec::new() }; LOCAL_CLASSES] }) };
}

/// Free blocks that belong to one thread.
struct LocalLists {
    epoch: u64,
    lists: [Vec<Block>; LOCAL_CLASSES],
}

impl LocalLists {
    fn pop(&mut self, class: SizeClass) -> Option<Block> {
        self.follow_trim();
        self.lists[class.index()].pop()
    }

    fn push(&mut self, block: Block) -> Result<(), Block> {
        self.follow_trim();
        let list = &mut self.lists[block.class.index()];
        if list.len() >= (LOCAL_CLASS_BYTES / block.class.size_bytes()).min(LOCAL_CLASS_BLOCKS) {
            return Err(block);
        }
        list.push(block);
        Ok(())
    }

    fn follow_trim(&mut self) {
        let epoch = TRIM_EPOCH.load(Ordering::Relaxed);
        if self.epoch != epoch {
            self.epoch = epoch;
            self.lists.iter_mut().for_each(release_all);
        }
    }
}

impl Drop for LocalLists {
    fn drop(&mut self) {
        for list in &mut self.lists {
            for block in list.drain(..) {
                FREE[block.class.index()].lock().push(block);
            }
        }
    }
}

/// Takes the locks of all lists, for a fork.
pub(crate) fn hold(held: &mut Vec<Held>) {
    super::reclaim::hold(held);
    devices::hold(held);
    for list in &FREE {
        held.extend(persist(|| list.try_lock()).map(|guard| Box::new(guard) as Held));
    }
}

fn is_local(class: SizeClass) -> bool {
    class.size_bytes() <= LOCAL_MAX_BYTES
}

/// Allocates a block of a class, reusing a free one if possible; none if the system has no more memory.
pub(super) fn allocate(class: SizeClass) -> Option<Block> {
    let block = reuse(class).or_else(|| acquire(class))?;
    let live = COUNTERS.live_bytes.fetch_add(class.size_bytes(), Ordering::Relaxed) + class.size_bytes();
    if live > COUNTERS.peak_bytes.load(Ordering::Relaxed) {
        COUNTERS.peak_bytes.fetch_max(live, Ordering::Relaxed);
    }
    Some(block)
}

fn reuse(class: SizeClass) -> Option<Block> {
    if is_local(class)
        && let Ok(Some(block)) = LOCAL.try_with(|local| local.borrow_mut().pop(class))
    {
        return Some(block);
    }
    FREE[class.index()].lock().pop()
}

#[cold]
fn acquire(class: SizeClass) -> Option<Block> {
    let size = reserved_bytes(class);
    if COUNTERS.reserved_bytes.load(Ordering::Relaxed).saturating_add(size) > available_bytes() / 4 * 3 {
        trim_memory();
    }
    // Operating systems overcommit memory, and kill the process when it is used.
    if COUNTERS.live_bytes.load(Ordering::Relaxed).saturating_add(size) > available_bytes() {
        return None;
    }
    let block = Block::acquire(class)?;
    COUNTERS.reserved_bytes.fetch_add(size, Ordering::Relaxed);
    COUNTERS.system_allocations.fetch_add(1, Ordering::Relaxed);
    Some(block)
}

/// Retains a block for the next allocation of its class.
pub(super) fn free(block: Block) {
    COUNTERS.live_bytes.fetch_sub(block.class.size_bytes(), Ordering::Relaxed);
    let mut block = Some(block);
    if block.as_ref().is_some_and(|block| is_local(block.class)) {
        // While a thread ends, its list is already gone, and the block is retained here.
        let _ = LOCAL.try_with(|local| {
            if let Some(given) = block.take() {
                block = local.borrow_mut().push(given).err();
            }
        });
    }
    if let Some(block) = block {
        FREE[block.class.index()].lock().push(block);
    }
}

fn release_all(list: &mut Vec<Block>) {
    for block in std::mem::take(list) {
        COUNTERS.reserved_bytes.fetch_sub(reserved_bytes(block.class), Ordering::Relaxed);
        block.release();
    }
}

/// Returns all cached memory to the operating system, including memory that recordings retain for later replays, and
/// that of devices to their drivers. Live buffers are not touched.
///
/// Small blocks that other threads retain, at most a few hundred KiB each, follow when those threads next allocate or
/// free.
pub fn trim_memory() {
    reclaim::trim();
    COUNTERS.trims.fetch_add(1, Ordering::Relaxed);
    TRIM_EPOCH.fetch_add(1, Ordering::Relaxed);
    let _ = LOCAL.try_with(|local| local.borrow_mut().follow_trim());
    for list in &FREE {
        let mut blocks = std::mem::take(&mut *list.lock());
        release_all(&mut blocks);
    }
}

/// Statistics of memory use: of the host, and of each device in use that has memory of its own.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct MemoryStats {
    /// Bytes in live buffers, rounded up to the allocator's sizes.
    pub live_bytes: usize,
    /// Bytes that are cached for later buffers.
    pub cached_bytes: usize,
    /// The peak of live bytes since the start or [`reset_peak`].
    pub peak_bytes: usize,
    /// How often memory was requested from the operating system because no cached block had the size.
    pub system_allocations: u64,
    /// How often cached blocks were returned.
    pub trims: u64,
    /// The devices in use that have memory of their own, in ascending order. Asking never opens one.
    pub devices: Vec<DeviceMemory>,
}

/// Bytes in live buffers of the host.
pub(crate) fn live_bytes() -> usize {
    COUNTERS.live_bytes.load(Ordering::Relaxed)
}

/// The peak of [`live_bytes`].
pub(crate) fn peak_bytes() -> usize {
    COUNTERS.peak_bytes.load(Ordering::Relaxed)
}

/// Returns the current memory use.
#[must_use]
pub fn memory() -> MemoryStats {
    let live_bytes = live_bytes();
    MemoryStats {
        live_bytes,
        cached_bytes: COUNTERS.reserved_bytes.load(Ordering::Relaxed).saturating_sub(live_bytes),
        peak_bytes: COUNTERS.peak_bytes.load(Ordering::Relaxed),
        system_allocations: COUNTERS.system_allocations.load(Ordering::Relaxed),
        trims: COUNTERS.trims.load(Ordering::Relaxed),
        devices: devices::report(),
    }
}

/// Resets [`MemoryStats::peak_bytes`] to the current number of live bytes.
pub fn reset_peak() {
    COUNTERS.peak_bytes.store(COUNTERS.live_bytes.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Raises [`MemoryStats::peak_bytes`] to a peak from before [`reset_peak`].
pub(crate) fn raise_peak(bytes: usize) {
    COUNTERS.peak_bytes.fetch_max(bytes, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_that_threads_keep_fit_their_table() {
        let last = SizeClass::of(LOCAL_MAX_BYTES).unwrap();
        assert_eq!(last.index() + 1, LOCAL_CLASSES);
    }

    #[test]
    fn the_last_freed_block_is_the_next_one() {
        for size in [64, 4096, 3 << 20] {
            let class = SizeClass::of(size).unwrap();
            let block = allocate(class).unwrap();
            let address = block.data;
            free(block);
            let again = allocate(class).unwrap();
            // Other tests share the lists of large classes, so only the thread-local ones are predictable.
            if is_local(class) {
                assert_eq!(again.data, address);
            }
            free(again);
        }
    }

    #[test]
    fn trimming_gives_large_blocks_back() {
        let class = SizeClass::of(37 << 20).unwrap();
        let block = allocate(class).unwrap();
        free(block);
        trim_memory();
        assert!(FREE[class.index()].lock().is_empty());
    }

    #[test]
    fn blocks_cross_threads_and_survive_them() {
        let handles: Vec<_> = (0..4)
            .map(|seed: usize| {
                std::thread::spawn(move || {
                    let mut held = Vec::new();
                    for round in 0..2000 {
                        let class = SizeClass::of(1 + (round * 7919 + seed * 104_729) % 100_000).unwrap();
                        let block = allocate(class).unwrap();
                        // SAFETY: the block is exclusive and at least one byte long.
                        unsafe { block.data.as_ptr().write(seed as u8) };
                        held.push(block);
                        if held.len() > 16 {
                            let block = held.swap_remove(round % 16);
                            // SAFETY: written above, and no other thread has the block.
                            assert_eq!(unsafe { block.data.as_ptr().read() }, seed as u8);
                            free(block);
                        }
                    }
                    held
                })
            })
            .collect();
        for handle in handles {
            handle.join().unwrap().into_iter().for_each(free);
        }
    }
}
