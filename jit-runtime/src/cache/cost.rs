//! Estimates how long a launch will take, from previous launches of the same code, and divides its lanes accordingly.
//!
//! Waking another core costs about a microsecond and is worthwhile from some ten microseconds of work on. Blocks are so
//! long that distributing them costs nothing, and so numerous that the cores finish together.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Shorter launches run on the calling thread.
pub(crate) const SMALL_NS: f64 = 12_000.0;
/// The minimum duration of a block, if the estimate is right...
const BLOCK_MIN_NS: f64 = 5_000.0;
/// ...and its approximate maximum, so that a thread that waits for something else returns soon.
const BLOCK_MAX_NS: f64 = 1_000_000.0;
/// The number of blocks for each thread, so that the cores finish together although their speeds differ.
const BLOCKS_PER_THREAD: f64 = 4.0;
/// The same while the time of a lane is unknown: a first measurement, at many places.
const UNKNOWN_BLOCKS_PER_THREAD: f64 = 32.0;
/// Blocks start at a multiple of this many lanes, unless a block of that many takes long. Then no two of them share a
/// cache line, whatever the element type.
const BLOCK_STEP: usize = 64;

/// The time of generated code for an operation on one lane before any measurement.
const GENERATED_NS_PER_OP: f32 = 0.05;
/// The same for interpreted code.
const INTERPRETED_NS_PER_OP: f32 = 2.0;
/// How often a loop runs before any measurement.
const LOOP_GUESS: f32 = 64.0;
/// The minimum time of any launch, however narrow.
const FIXED_NS: f64 = 40.0;

/// The known or estimated running time of a kernel.
#[derive(Debug)]
pub(crate) struct Cost {
    /// An estimate from the operations.
    guess: f32,
    /// Whether the estimate is useful: not for loops, whose number of iterations is unknown.
    is_guess_good: bool,
    lanes_per_step: usize,
    /// Bits of the average nanoseconds for a lane, an `f32`; 0 while unknown.
    measured: AtomicU32,
}

/// The estimated time of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    /// Nanoseconds of one core.
    total_ns: f64,
    is_known: bool,
}

impl Estimate {
    /// Whether waking other cores costs more time than it saves.
    pub(crate) fn is_small(self) -> bool {
        self.total_ns < SMALL_NS
    }

    /// Nanoseconds of one core.
    pub(crate) fn ns(self) -> f64 {
        self.total_ns
    }

    /// The estimate for several launches, one after another.
    pub(crate) fn sum(each: impl Iterator<Item = Estimate>) -> Estimate {
        let nothing = Estimate { total_ns: 0.0, is_known: true };
        each.fold(nothing, |a, b| Estimate { total_ns: a.total_ns + b.total_ns, is_known: a.is_known && b.is_known })
    }
}

impl Cost {
    /// An estimate for code with this many operations.
    pub(crate) fn new(op_count: usize, has_loop: bool, is_interpreted: bool, lanes_per_step: usize) -> Cost {
        let per_op = if is_interpreted { INTERPRETED_NS_PER_OP } else { GENERATED_NS_PER_OP };
        let repetitions = if has_loop { LOOP_GUESS } else { 1.0 };
        let guess = op_count.max(1) as f32 * per_op * repetitions;
        Cost { guess, is_guess_good: !has_loop, lanes_per_step: lanes_per_step.max(1), measured: AtomicU32::new(0) }
    }

    /// The number of computed lanes, which exceeds the width where vectors are not full.
    fn computed_lanes(&self, width: usize) -> f64 {
        width.next_multiple_of(self.lanes_per_step) as f64
    }

    /// Estimates the nanoseconds of a lane.
    #[inline]
    pub(crate) fn lane_ns(&self) -> f32 {
        let measured = f32::from_bits(self.measured.load(Ordering::Relaxed));
        if measured > 0.0 { measured } else { self.guess }
    }

    /// Estimates the time of a launch of this width.
    pub(crate) fn estimate(&self, width: usize) -> Estimate {
        let measured = f32::from_bits(self.measured.load(Ordering::Relaxed));
        let (per_lane, is_known) = if measured > 0.0 { (measured, true) } else { (self.guess, self.is_guess_good) };
        Estimate { total_ns: self.computed_lanes(width) * f64::from(per_lane), is_known }
    }

    /// Updates the estimate after a launch. Interruptions only ever lengthen a measurement, so shorter ones weigh more.
    pub(crate) fn learn(&self, width: usize, busy_ns: u64) {
        if width == 0 {
            return;
        }
        let sample = ((busy_ns as f64 - FIXED_NS).max(1.0) / self.computed_lanes(width)) as f32;
        let before = f32::from_bits(self.measured.load(Ordering::Relaxed));
        let weight = match before {
            0.0 => 1.0,
            _ if sample < before => 0.5,
            _ => 0.2,
        };
        let average = before + weight * (sample - before);
        self.measured.store(average.max(f32::MIN_POSITIVE).to_bits(), Ordering::Relaxed);
    }

    /// Average nanoseconds of one lane on one core, if measured.
    pub(crate) fn ns_per_lane(&self) -> Option<f32> {
        let measured = f32::from_bits(self.measured.load(Ordering::Relaxed));
        (measured > 0.0).then_some(measured)
    }
}

/// Blocks of a launch without reductions start at a multiple of this many lanes.
fn block_step(width: usize, estimate: Estimate, lanes_per_step: usize) -> usize {
    let is_slow = estimate.total_ns * BLOCK_STEP as f64 > BLOCK_MIN_NS * width as f64;
    if is_slow || !estimate.is_known { lanes_per_step } else { BLOCK_STEP.next_multiple_of(lanes_per_step) }
}

/// The blocks into which a launch is cut, in the units in which code can be run: lanes, or chunks of reductions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Division {
    units: usize,
    block_units: usize,
    /// At least one, which is empty for a launch of width 0.
    pub(crate) blocks: usize,
}

impl Division {
    /// Divides the lanes of a launch without reductions. Blocks start at whole steps of the code.
    pub(crate) fn of_lanes(width: usize, estimate: Estimate, lanes_per_step: usize, threads: usize) -> Division {
        Division::new(width, estimate, block_step(width, estimate, lanes_per_step.max(1)), threads)
    }

    /// Divides the chunks of a launch with reductions.
    pub(crate) fn of_chunks(chunks: usize, estimate: Estimate, threads: usize) -> Division {
        Division::new(chunks, estimate, 1, threads)
    }

    /// Divides units into blocks of this size, whatever they cost.
    pub(crate) fn of_segments(units: usize, segment: usize) -> Division {
        let block_units = segment.clamp(1, units.max(1));
        Division { units, block_units, blocks: units.div_ceil(block_units).max(1) }
    }

    fn new(units: usize, estimate: Estimate, step: usize, threads: usize) -> Division {
        let wanted_blocks = if estimate.is_known {
            let block_ns = (estimate.total_ns / (BLOCKS_PER_THREAD * threads as f64)).clamp(BLOCK_MIN_NS, BLOCK_MAX_NS);
            estimate.total_ns / block_ns
        } else {
            UNKNOWN_BLOCKS_PER_THREAD * threads as f64
        };
        let each = (units as f64 / wanted_blocks.max(1.0)).ceil() as usize;
        let block_units = each.clamp(1, units.max(1)).next_multiple_of(step);
        Division { units, block_units, blocks: units.div_ceil(block_units).max(1) }
    }

    /// The units of a block.
    pub(crate) fn units(&self, block: usize) -> std::ops::Range<u64> {
        let start = block * self.block_units;
        start as u64..(start + self.block_units).min(self.units) as u64
    }
}

/// The number of bytes above which the arrays of a launch do not fit into the cache.
///
/// Measured on a machine with 32 MiB: with streaming stores, a kernel that copies back and forth takes 1.8 times as
/// long at 16 MiB, and equally long at 32 MiB. Above that it takes 1.2 to 1.5 times as long without them. Huge shared
/// caches of virtual machines are also used by others, hence the upper bound.
pub(crate) fn streaming_threshold() -> usize {
    static THRESHOLD: LazyLock<usize> = LazyLock::new(|| cache_bytes().clamp(2 << 20, 64 << 20));
    *THRESHOLD
}

/// The size of the largest cache; 32 MiB if the system does not report it.
fn cache_bytes() -> usize {
    (0..8)
        .filter_map(|index| {
            std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size")).ok()
        })
        .filter_map(|text| parse_cache_size(text.trim()))
        .max()
        .unwrap_or(32 << 20)
}

fn parse_cache_size(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let shift = match &text[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    digits.parse::<usize>().ok().map(|number| number << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_cover_all_lanes_once(
            width in 0_usize..10_000_000,
            ns in 0.0_f64..1e12,
            is_known: bool,
            step_log2 in 0_u32..8,
            threads in 1_usize..200,
        ) {
            let division = Division::of_lanes(width, Estimate { total_ns: ns, is_known }, 1 << step_log2, threads);
            let mut covered = 0;
            for block in 0..division.blocks {
                let lanes = division.units(block);
                prop_assert_eq!(lanes.start, covered);
                prop_assert!(lanes.end > lanes.start || width == 0);
                prop_assert_eq!(lanes.start % (1 << step_log2), 0);
                covered = lanes.end;
            }
            prop_assert_eq!(covered, width as u64);
        }
    }

    #[test]
    fn blocks_follow_the_measured_time() {
        let cost = Cost::new(10, false, false, 16);
        assert!(cost.estimate(1000).is_small());
        cost.learn(1 << 20, 100_000_000);
        let estimate = cost.estimate(1 << 20);
        assert!(!estimate.is_small());
        let slow = Division::of_lanes(1 << 20, estimate, 16, 2);
        assert!(slow.blocks >= 95 && slow.blocks <= 101, "{slow:?} should have blocks of about a millisecond");
        for _ in 0..30 {
            cost.learn(1 << 20, 100_000);
        }
        let fast = Division::of_lanes(1 << 20, cost.estimate(1 << 20), 16, 2);
        assert_eq!(fast.blocks, 8, "{fast:?} should have four blocks for each thread");
        let small = Division::of_lanes(1 << 17, cost.estimate(1 << 17), 16, 2);
        assert!(small.blocks >= 2 && small.blocks <= 3, "{small:?} should have blocks of about 5 microseconds");
    }

    #[test]
    fn loops_are_probed_in_many_blocks_until_they_are_measured() {
        let cost = Cost::new(20, true, false, 16);
        let division = Division::of_lanes(1 << 20, cost.estimate(1 << 20), 16, 2);
        assert_eq!(division.blocks, 64);
    }

    #[test]
    fn few_slow_lanes_are_divided_among_all_cores() {
        let cost = Cost::new(20, true, false, 16);
        cost.learn(64, 64_000_000);
        let division = Division::of_lanes(64, cost.estimate(64), 16, 4);
        assert_eq!((division.blocks, division.block_units), (4, 16));
    }

    #[test]
    fn cache_sizes_of_the_system_are_understood() {
        assert_eq!(parse_cache_size("32768K"), Some(32 << 20));
        assert_eq!(parse_cache_size("2M"), Some(2 << 20));
        assert_eq!(parse_cache_size("48"), Some(48));
        assert_eq!(parse_cache_size("many"), None);
    }
}
