//! Distributes the blocks of a launch to the participating threads.
//!
//! Each thread first takes blocks from its own part of the lanes, which is the same in every launch. Chains of launches
//! over arrays of one size then find their data in the caches of the core that wrote it. A thread that has finished its
//! own part takes blocks from the others.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

thread_local! {
    static HOME: Cell<usize> = const { Cell::new(0) };
}

/// Sets which part of launches this thread takes first. Threads that are not workers have the first part.
pub(super) fn set_home(part: usize) {
    HOME.set(part);
}

/// Blocks `0..count`, each of which is claimed once.
pub(super) struct Blocks {
    count: usize,
    claimed: AtomicUsize,
    /// The next block of each part.
    next: Box<[AtomicUsize]>,
}

impl Blocks {
    /// Divides blocks into as many parts as there are threads.
    pub(super) fn new(count: usize, threads: usize) -> Blocks {
        let parts = threads.clamp(1, count.max(1));
        let next = (0..parts).map(|part| AtomicUsize::new(part * count / parts)).collect();
        Blocks { count, claimed: AtomicUsize::new(0), next }
    }

    /// Claims a block that has not been claimed; none if there is none left.
    pub(super) fn claim(&self) -> Option<usize> {
        let (home, parts) = (HOME.get(), self.next.len());
        if self.unclaimed() == 0 {
            return None;
        }
        let block = (0..parts).find_map(|step| self.claim_from((home + step) % parts))?;
        self.claimed.fetch_add(1, Ordering::Relaxed);
        Some(block)
    }

    fn claim_from(&self, part: usize) -> Option<usize> {
        let end = (part + 1) * self.count / self.next.len();
        let next = &self.next[part];
        // The check before prevents the counter from growing without bound.
        (next.load(Ordering::Relaxed) < end).then(|| next.fetch_add(1, Ordering::Relaxed)).filter(|block| *block < end)
    }

    /// The number of blocks.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The number of blocks that have not been claimed yet.
    pub(super) fn unclaimed(&self) -> usize {
        self.count - self.claimed.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_claimed_once_by_some_thread() {
        for (count, threads) in [(1, 1), (1, 8), (7, 3), (100, 4), (1000, 64)] {
            let blocks = Blocks::new(count, threads);
            let claimed: Vec<Vec<usize>> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4)
                    .map(|home| {
                        let blocks = &blocks;
                        scope.spawn(move || {
                            set_home(home);
                            std::iter::from_fn(|| blocks.claim()).collect()
                        })
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            let mut all: Vec<usize> = claimed.concat();
            all.sort_unstable();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
            assert_eq!(blocks.unclaimed(), 0);
        }
    }

    #[test]
    fn a_thread_begins_with_its_own_part() {
        let blocks = Blocks::new(12, 3);
        set_home(1);
        assert_eq!(std::iter::from_fn(|| blocks.claim()).collect::<Vec<_>>(), [4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3]);
        set_home(0);
    }
}
