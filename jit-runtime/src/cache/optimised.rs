//! Kernels after the passes: a kernel that is compiled again, with other options or with more effort, is not optimised
//! again.
//!
//! The key is the kernel as it was scheduled, compared in full. The least recently used ones are evicted first; the
//! bounds are small, since most kernels are compiled once.

use std::sync::Arc;

use super::LevelStats;
use super::hash;
use crate::fork::Held;
use crate::ir::{self, Kernel};
use crate::sync::{Mutex, persist};

/// The number of kernels.
const MAX_ENTRIES: usize = 64;
/// The number of operations in all of them.
const MAX_OPS: usize = 1 << 17;

struct Optimised {
    hash: u64,
    scheduled: Kernel,
    optimised: Arc<Kernel>,
}

impl Optimised {
    fn ops(&self) -> usize {
        self.scheduled.op_count() + self.optimised.op_count()
    }
}

/// The kernels, the least recently used one first.
pub(super) struct OptimisedKernels(Mutex<State>);

#[derive(Default)]
struct State {
    kernels: Vec<Optimised>,
    ops: usize,
    hits: u64,
    misses: u64,
    evictions: u64,
}

impl OptimisedKernels {
    pub(super) const fn new() -> OptimisedKernels {
        OptimisedKernels(Mutex::new(State { kernels: Vec::new(), ops: 0, hits: 0, misses: 0, evictions: 0 }))
    }

    /// The kernel that a backend receives for one that was scheduled.
    pub(super) fn of(&self, scheduled: &Kernel) -> Arc<Kernel> {
        let hash = hash::content(scheduled);
        if let Some(found) = self.0.lock().find(hash, scheduled) {
            return found;
        }
        let mut optimised = scheduled.clone();
        ir::passes::optimise(&mut optimised);
        let optimised = Arc::new(optimised);
        let entry = Optimised { hash, scheduled: scheduled.clone(), optimised: Arc::clone(&optimised) };
        self.0.lock().insert(entry);
        optimised
    }

    pub(super) fn stats(&self) -> LevelStats {
        let State { kernels, ops, hits, misses, evictions } = &*self.0.lock();
        let (max_entries, max_bytes) = self.bounds();
        let (hits, misses, evictions) = (*hits, *misses, *evictions);
        LevelStats { entries: kernels.len(), bytes: *ops as u64, max_entries, max_bytes, hits, misses, evictions }
    }

    pub(super) fn bounds(&self) -> (usize, Option<u64>) {
        (MAX_ENTRIES, Some(MAX_OPS as u64))
    }

    pub(super) fn clear(&self) {
        let mut state = self.0.lock();
        (state.kernels, state.ops) = (Vec::new(), 0);
    }

    /// Takes the lock, for a fork.
    pub(super) fn hold(&'static self, held: &mut Vec<Held>) {
        held.extend(persist(|| self.0.try_lock()).map(|guard| Box::new(guard) as Held));
    }
}

impl State {
    fn find(&mut self, hash: u64, scheduled: &Kernel) -> Option<Arc<Kernel>> {
        let is_it = |entry: &Optimised| entry.hash == hash && entry.scheduled == *scheduled;
        let Some(position) = self.kernels.iter().position(is_it) else {
            self.misses += 1;
            return None;
        };
        self.hits += 1;
        self.kernels[position..].rotate_left(1);
        self.kernels.last().map(|entry| Arc::clone(&entry.optimised))
    }

    fn insert(&mut self, entry: Optimised) {
        if entry.ops() > MAX_OPS {
            return;
        }
        self.ops += entry.ops();
        self.kernels.push(entry);
        while self.kernels.len() > MAX_ENTRIES || self.ops > MAX_OPS {
            self.ops -= self.kernels.remove(0).ops();
            self.evictions += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Access, BinaryOp, Builder, Type};

    /// `lane * number + number`, `ops` times.
    fn kernel(number: u64, ops: usize) -> Kernel {
        let mut builder = Builder::new();
        let output = builder.buffer(Type::U32, Access::Write);
        let mut value = builder.lane_index();
        for _ in 0..ops {
            let number = builder.constant(Type::U32, number);
            let product = builder.binary(BinaryOp::Mul, value, number);
            value = builder.binary(BinaryOp::Add, product, number);
        }
        builder.store(output, value);
        builder.finish()
    }

    fn plain(kernel: &Kernel) -> Kernel {
        let mut optimised = kernel.clone();
        ir::passes::optimise(&mut optimised);
        optimised
    }

    // no device: nothing is run
    // rows: O32
    #[test]
    fn a_kernel_is_optimised_once_and_others_are_told_apart() {
        let level = OptimisedKernels::new();
        for number in [3, 4, 3, 4] {
            assert_eq!(*level.of(&kernel(number, 2)), plain(&kernel(number, 2)));
        }
        let stats = level.stats();
        assert_eq!((stats.entries, stats.hits, stats.misses, stats.evictions), (2, 2, 2, 0));
        level.clear();
        assert_eq!((level.stats().entries, level.stats().bytes), (0, 0));
        level.of(&kernel(3, 2));
        assert_eq!(level.stats().misses, 3);
    }

    #[test]
    fn kernels_of_one_hash_are_compared_in_full() {
        let level = OptimisedKernels::new();
        let entry = |number| {
            let scheduled = kernel(number, 1);
            Optimised { hash: 0, optimised: Arc::new(plain(&scheduled)), scheduled }
        };
        (0..3).for_each(|number| level.0.lock().insert(entry(number)));
        let found = level.0.lock().find(0, &kernel(1, 1)).unwrap();
        assert_eq!(*found, plain(&kernel(1, 1)));
        assert!(level.0.lock().find(0, &kernel(7, 1)).is_none());
    }

    // no device: nothing is run
    // rows: O32
    #[test]
    fn the_least_recently_used_kernel_is_evicted() {
        let level = OptimisedKernels::new();
        (0..MAX_ENTRIES as u64).for_each(|number| _ = level.of(&kernel(number, 1)));
        level.of(&kernel(0, 1));
        level.of(&kernel(1000, 1));
        let before = level.stats();
        assert_eq!((before.entries, before.evictions), (MAX_ENTRIES, 1));
        level.of(&kernel(0, 1));
        assert_eq!(level.stats().hits, before.hits + 1, "used since");
        level.of(&kernel(1, 1));
        assert_eq!(level.stats().misses, before.misses + 1, "evicted");
    }

    #[test]
    fn the_number_of_operations_is_bounded() {
        let level = OptimisedKernels::new();
        (0..5).for_each(|number| _ = level.of(&kernel(number, MAX_OPS / 16)));
        let stats = level.stats();
        assert!(stats.bytes <= MAX_OPS as u64 && stats.evictions > 0 && stats.entries > 0, "{stats:?}");
        level.of(&kernel(9, MAX_OPS));
        assert_eq!(level.stats().entries, stats.entries, "too large to be kept");
    }
}
