//! The launches that are queued and not done, and the bound on their number.
//!
//! A program can queue launches faster than they run. Each retains its buffers, so without a bound memory would grow
//! with the length of the program, and no block would be reused while it is in a cache. So a thread that queues one
//! launch too many takes part in the oldest ones until there is room. That costs no time: it would otherwise wait for a
//! result later, and the queue is long enough to keep all threads busy while the thread prepares the next launch.
//!
//! A new launch may write memory that only launches in flight still use, since it comes after them. So a chain of steps
//! alternates between two blocks, as a loop that waits for each step would, however many steps are queued: its data
//! stays in the caches.

use std::collections::BTreeMap;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, LazyLock};

use smallvec::SmallVec;

use super::task::Task;
use crate::cache::cost;
use crate::current_device::current_device;
use crate::memory::{self, Buffer};

/// This many launches may be in flight, however much they write: one more than run, if each takes all threads. With
/// four, independent launches ran beside one another in more memory than the caches hold, and a chain of products with
/// its derivative took 1.1 times as long.
const FEWEST: usize = 2;
/// No more launches than this are in flight, however little they write. Preparing one takes at most some ten
/// microseconds, and launches that take less than that on all cores are not queued.
const MOST: usize = 64;

/// The bytes that launches in flight may write: a fraction of the largest cache, so that the data of a launch is still
/// cached when its memory is reused.
static MOST_BYTES: LazyLock<usize> = LazyLock::new(|| cost::streaming_threshold() / 4);
/// The bytes that the few launches which may always be in flight may write: a fraction of the machine's memory.
static LARGEST_BYTES: LazyLock<usize> = LazyLock::new(|| memory::available_bytes() / 8);

/// Memory of this size and above is reused while launches still use it.
pub(crate) const REUSED_BYTES: usize = 128 << 10;
/// The number of latest launches whose memory is reused. That of earlier ones is free soon, and less likely in a cache.
const LATEST: usize = 8;

/// The launches that are not done, in the order in which they were queued.
#[derive(Default)]
pub(super) struct Flight {
    tasks: BTreeMap<u64, Arc<Task>>,
    written_bytes: usize,
}

impl Flight {
    /// Adds a launch that is being queued.
    pub(super) fn add(&mut self, task: &Arc<Task>) {
        self.written_bytes = self.written_bytes.saturating_add(task.written_bytes());
        self.tasks.insert(task.number(), Arc::clone(task));
    }

    /// Removes a launch that is done.
    pub(super) fn remove(&mut self, task: &Task) {
        if self.tasks.remove(&task.number()).is_some() {
            self.written_bytes = self.written_bytes.saturating_sub(task.written_bytes());
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// All launches, oldest first.
    pub(super) fn tasks(&self) -> impl Iterator<Item = &Arc<Task>> {
        self.tasks.values()
    }

    /// A buffer of this size on the current device that nothing but launches in flight uses, the latest such: a launch
    /// that writes it will come after them. Those of launches on few threads are not returned, since others may run
    /// beside these.
    pub(super) fn reusable(&self, size_bytes: usize) -> Option<Arc<Buffer>> {
        // While their lists are locked, these launches retain their buffers.
        let lists: SmallVec<[_; MOST]> = self.tasks.values().rev().filter_map(|task| task.buffers()).collect();
        let buffers = |launches| lists.iter().take(launches).flat_map(|list| list.iter()).map(|access| &access.buffer);
        let uses = |buffer| buffers(usize::MAX).filter(|other| Arc::ptr_eq(other, buffer)).count();
        let device = current_device();
        let mut fitting =
            buffers(LATEST).filter(|buffer| buffer.size_bytes() == size_bytes && buffer.device() == device);
        fitting.find(|buffer| is_used_by(buffer, uses(buffer))).cloned()
    }

    /// The oldest launch, if there are more than the bound permits.
    pub(super) fn excess(&self) -> Option<Arc<Task>> {
        let is_full = is_full(self.tasks.len(), self.written_bytes, *MOST_BYTES, *LARGEST_BYTES);
        self.tasks.values().next().filter(|_| is_full).cloned()
    }
}

/// Whether a buffer has only this many handles.
fn is_used_by(buffer: &Arc<Buffer>, handles: usize) -> bool {
    let is_so = Arc::strong_count(buffer) == handles && Arc::weak_count(buffer) == 0;
    // What other threads did by the handles that they dropped comes before what the caller does.
    fence(Ordering::Acquire);
    is_so
}

/// Whether this many launches, which write this many bytes, exceed the bound.
fn is_full(launches: usize, bytes: usize, most_bytes: usize, largest_bytes: usize) -> bool {
    launches > MOST || launches > FEWEST && bytes > most_bytes || launches > 1 && bytes > largest_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_launches_always_fit_many_only_if_they_write_little() {
        let is_full = |launches, bytes| is_full(launches, bytes, 1 << 20, 1 << 30);
        assert!(!is_full(1, usize::MAX), "one launch runs whatever it writes");
        assert!(is_full(2, (1 << 30) + 1) && !is_full(2, 1 << 30));
        assert!(!is_full(FEWEST, 1 << 30) && is_full(FEWEST + 1, (1 << 20) + 1));
        assert!(!is_full(MOST, 1 << 20) && is_full(MOST + 1, 0));
    }
}
