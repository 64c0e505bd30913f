//! Scans over the threads of a block: first in each warp, by shuffles (Hillis and Steele 1986), then over the warps.

use super::super::ptx::Register;
use super::builder::Builder;

/// The threads of a warp.
pub(super) const WARP: u32 = 32;

/// The sums of a block.
pub(super) struct BlockSum {
    /// Of the threads before.
    pub(super) before: Register,
    /// Of all threads.
    pub(super) total: Register,
}

impl Builder {
    /// The sums of the words of the threads of a warp up to each.
    pub(super) fn warp_sums(&mut self, lane: Register, word: Register) -> Register {
        let mut sum = word;
        for distance in [1, 2, 4, 8, 16] {
            let other = self.value_before(sum, distance);
            let has_other = self.is_less(distance - 1, lane);
            let other = self.choose(has_other, other, 0);
            sum = self.add(sum, other);
        }
        sum
    }

    /// Sums a word over the threads of a block of so many warps. `totals` is shared memory for a word of each warp,
    /// which is free again after the next barrier.
    pub(super) fn block_sum(&mut self, totals: Register, warps: u32, word: Register) -> BlockSum {
        let thread = self.thread();
        let (lane, warp) = (self.and(thread, WARP - 1), self.shr(thread, WARP.ilog2()));
        let up_to = self.warp_sums(lane, word);
        let is_last = self.is_equal(lane, WARP - 1);
        let own = self.at(totals, warp, 4);
        self.when(is_last, |this| this.store_word("shared", own, 0, up_to));
        self.barrier();
        let mut before = self.sub(up_to, word);
        let mut total = self.load_word("shared", totals, 0);
        for other in 0..warps {
            let sum = self.load_word("shared", totals, 4 * other);
            let is_before = self.is_less(other, warp);
            let counted = self.choose(is_before, sum, 0);
            before = self.add(before, counted);
            total = if other == 0 { sum } else { self.add(total, sum) };
        }
        BlockSum { before, total }
    }
}
