//! The launches that are queued and not done, and the bound on their number.
//!
//! A program can queue launches faster than they run. Each retains its buffers, so without a bound memory would grow
//! with the length of the program, and no block would be reused while it is in a cache. So a thread that queues one
//! launch too many takes part in the oldest ones until there is room. That costs no time: it would otherwise wait for a
//! result later, and the queue is long enough to keep all threads busy while the thread prepares the next launch.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use super::task::Task;
use crate::cache::cost;
use crate::memory;

/// This many launches may be in flight, however much they write.
const FEWEST: usize = 4;
/// No more launches than this are in flight, however little they write. Preparing one takes at most some ten
/// microseconds, and launches that take less than that on all cores are not queued.
const MOST: usize = 64;

/// The bytes that launches in flight may write: a fraction of the largest cache, so that the data of a launch is still
/// cached when its memory is reused.
static MOST_BYTES: LazyLock<usize> = LazyLock::new(|| cost::streaming_threshold() / 4);
/// The bytes that the few launches which may always be in flight may write: a fraction of the machine's memory.
static LARGEST_BYTES: LazyLock<usize> = LazyLock::new(|| memory::available_bytes() / 8);

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

    /// The oldest launch, if there are more than the bound permits.
    pub(super) fn excess(&self) -> Option<Arc<Task>> {
        let is_full = is_full(self.tasks.len(), self.written_bytes, *MOST_BYTES, *LARGEST_BYTES);
        self.tasks.values().next().filter(|_| is_full).cloned()
    }
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
