//! Passes the reduction of all previous elements from each block of a step to the next one.
//!
//! A block first reduces its own elements. It then takes the carry of the block before it, passes on the carry combined
//! with its own reduction, and writes its results (a chained scan: Merrill and Garland, *Single-pass Parallel Prefix
//! Scan with Decoupled Look-back*, NVR-2016-002; a few cores need only the chain). Blocks are begun in ascending order,
//! so the first one that is not done never waits.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const EMPTY: u32 = 0;
const FULL: u32 = 1;
/// There will be no value, because the block before failed.
const GIVEN_UP: u32 = 2;

/// The number of polls between two yields to another thread.
const SPINS: u32 = 2000;

#[derive(Default)]
struct Cell {
    state: AtomicU32,
    bits: AtomicU64,
}

/// One slot for each block, which receives the carry of the block before it.
pub(super) struct Carries {
    cells: Box<[Cell]>,
}

impl Carries {
    /// Creates empty slots for this many blocks.
    pub(super) fn new(blocks: usize) -> Carries {
        Carries { cells: (0..blocks).map(|_| Cell::default()).collect() }
    }

    /// Takes the carry of the block before a block. None if that block has failed.
    pub(super) fn take(&self, block: usize) -> Option<u64> {
        let cell = &self.cells[block];
        let mut turns = 0_u32;
        loop {
            match cell.state.load(Ordering::Acquire) {
                FULL => return Some(cell.bits.load(Ordering::Relaxed)),
                GIVEN_UP => return None,
                _ if turns < SPINS => {
                    turns += 1;
                    std::hint::spin_loop();
                }
                _ => {
                    turns = 0;
                    std::thread::yield_now();
                }
            }
        }
    }

    /// Passes a carry to the block after a block, if there is one.
    pub(super) fn hand_over(&self, block: usize, bits: u64) {
        if let Some(cell) = self.cells.get(block + 1) {
            cell.bits.store(bits, Ordering::Relaxed);
            cell.state.store(FULL, Ordering::Release);
        }
    }

    /// Informs the block after a block that there will be no carry; a carry that was already passed remains valid.
    pub(super) fn give_up(&self, block: usize) {
        if let Some(cell) = self.cells.get(block + 1) {
            let _ = cell.state.compare_exchange(EMPTY, GIVEN_UP, Ordering::Release, Ordering::Relaxed);
        }
    }

    /// Returns a guard that gives up for a block on drop, unless a carry was passed.
    pub(super) fn guard(&self, block: usize) -> Guard<'_> {
        Guard { carries: self, block }
    }
}

/// See [`Carries::guard`].
pub(super) struct Guard<'a> {
    carries: &'a Carries,
    block: usize,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.carries.give_up(self.block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_passed_from_block_to_block_across_threads() {
        let carries = Carries::new(100);
        carries.cells[0].state.store(FULL, Ordering::Release);
        std::thread::scope(|scope| {
            for first in 0..2 {
                let carries = &carries;
                scope.spawn(move || {
                    for block in (first..100).step_by(2) {
                        let _guard = carries.guard(block);
                        let before = carries.take(block).unwrap();
                        carries.hand_over(block, before + block as u64);
                    }
                });
            }
        });
        assert_eq!(carries.take(99), Some((0..99).sum()));
    }

    #[test]
    fn blocks_behind_one_that_failed_do_not_wait() {
        let carries = Carries::new(3);
        drop(carries.guard(0));
        assert_eq!(carries.take(1), None);
        carries.hand_over(1, 7);
        carries.give_up(1);
        assert_eq!(carries.take(2), Some(7));
    }
}
