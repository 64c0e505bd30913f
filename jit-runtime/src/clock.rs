//! The clock of measurements that each launch pays for.
//!
//! Asking the operating system takes longer than tracing an operation. Where the processor counts time at a constant
//! rate, and the operating system trusts that counter itself, it is read directly. Its rate follows from the operating
//! system's clock, once a process has run for long enough; nothing waits for that.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The processor's counter is compared with the operating system's clock over at least this time: two readings of them
/// are some ten nanoseconds apart, so the rate is right to some millionths.
const COMPARED_NS: u64 = 10_000_000;

/// A moment of this process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Moment {
    /// Nanoseconds since the first one.
    ns: u64,
}

impl Moment {
    #[inline]
    pub(crate) fn now() -> Moment {
        let ns = match RATE.get() {
            Some(Some(rate)) => rate.ns_at(counter::read()),
            Some(None) => begin().instant.elapsed().as_nanos() as u64,
            None => before_comparison(),
        };
        Moment { ns }
    }

    /// Nanoseconds since the first moment of the process.
    pub(crate) fn ns(self) -> u64 {
        self.ns
    }

    /// Nanoseconds since then.
    #[inline]
    pub(crate) fn elapsed_ns(self) -> u64 {
        Moment::now().ns_since(self)
    }

    /// The time since then.
    pub(crate) fn elapsed(self) -> Duration {
        Duration::from_nanos(self.elapsed_ns())
    }

    /// Nanoseconds from another moment to this one; zero if the other one is later.
    #[inline]
    pub(crate) fn ns_since(self, earlier: Moment) -> u64 {
        self.ns.saturating_sub(earlier.ns)
    }
}

/// Readings of both clocks at the same time.
struct Reading {
    instant: Instant,
    count: u64,
}

impl Reading {
    /// The closest of a few: the thread may be interrupted between the clocks.
    fn now() -> Reading {
        let mut best: Option<(u64, Reading)> = None;
        for _ in 0..4 {
            let (before, instant, after) = (counter::read(), Instant::now(), counter::read());
            let gap = after.wrapping_sub(before);
            if best.as_ref().is_none_or(|(least, _)| gap < *least) {
                best = Some((gap, Reading { instant, count: before.wrapping_add(gap / 2) }));
            }
        }
        best.map_or_else(|| Reading { instant: Instant::now(), count: counter::read() }, |(_, reading)| reading)
    }
}

/// The rate of the counter.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Rate {
    /// The counter at the first moment.
    first: u64,
    /// Nanoseconds for each count, times 2³².
    scale: u64,
}

impl Rate {
    /// The rate of a counter that advanced from one count to another within some nanoseconds.
    fn of(first: u64, last: u64, ns: u64) -> Option<Rate> {
        let counts = last.checked_sub(first).filter(|counts| *counts > 0)?;
        let scale = u64::try_from((u128::from(ns) << 32) / u128::from(counts)).ok().filter(|scale| *scale > 0)?;
        Some(Rate { first, scale })
    }

    #[inline]
    fn ns_at(self, count: u64) -> u64 {
        ((u128::from(count.saturating_sub(self.first)) * u128::from(self.scale)) >> 32) as u64
    }
}

/// The rate, after the comparison; none if the counter can't be used.
static RATE: OnceLock<Option<Rate>> = OnceLock::new();

/// Makes time stand still from now on, unless the clocks have been compared already.
pub(crate) fn stop() {
    let _ = RATE.set(Some(Rate { first: u64::MAX, scale: 1 << 32 }));
}

fn begin() -> &'static Reading {
    static BEGIN: OnceLock<Reading> = OnceLock::new();
    BEGIN.get_or_init(Reading::now)
}

/// The operating system's time. Compares the clocks if enough of it has passed.
#[cold]
fn before_comparison() -> u64 {
    let begin = begin();
    let ns = begin.instant.elapsed().as_nanos() as u64;
    if ns >= COMPARED_NS {
        RATE.get_or_init(|| {
            let now = Reading::now();
            let ns = now.instant.duration_since(begin.instant).as_nanos() as u64;
            counter::is_reliable().then(|| Rate::of(begin.count, now.count, ns)).flatten()
        });
    }
    ns
}

/// The time-stamp counter.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod counter {
    use std::arch::x86_64::{__cpuid, _rdtsc};

    #[inline]
    pub(super) fn read() -> u64 {
        // SAFETY: each processor of this architecture has the instruction.
        unsafe { _rdtsc() }
    }

    /// Whether the counter advances at one rate, in sleep too, and equally on all processors. Linux checks the latter
    /// all the time, and stops using the counter as its own clock where it fails.
    pub(super) fn is_reliable() -> bool {
        /// Of the leaf that tells how power is managed, "invariant TSC" in EDX.
        const POWER: u32 = 0x8000_0007;
        const INVARIANT: u32 = 1 << 8;
        let has_leaf = __cpuid(0x8000_0000).eax >= POWER;
        let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        has_leaf
            && __cpuid(POWER).edx & INVARIANT != 0
            && std::fs::read_to_string(clock).is_ok_and(|name| name.trim() == "tsc")
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod counter {
    pub(super) fn read() -> u64 {
        0
    }

    pub(super) fn is_reliable() -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_converts_counts() {
        let rate = Rate::of(1_000, 4_000, 1_000).expect("three counts a nanosecond");
        let times = [0, 1_000, 1_003, 4_000, 3_000_001_000].map(|count| rate.ns_at(count));
        assert_eq!(times[..3], [0, 0, 0], "rounded down; before the first moment there is no time");
        assert!(times[3].abs_diff(1_000) <= 1 && times[4].abs_diff(1_000_000_000) <= 1, "{times:?}");
        let years = rate.ns_at(1_000 + 3 * 1_000_000_000 * 86_400 * 3_650);
        assert!(years.abs_diff(1_000_000_000 * 86_400 * 3_650) < 1_000_000_000, "{years}: ten years do not overflow");
    }

    #[test]
    fn a_counter_that_stands_still_or_runs_backwards_has_no_rate() {
        assert_eq!([Rate::of(5, 5, 10), Rate::of(6, 5, 10), Rate::of(5, 6, 0)], [None; 3]);
    }

    #[test]
    fn moments_advance_as_the_clock_of_the_operating_system() {
        let pause = |ns: u64| {
            let begin = Instant::now();
            while begin.elapsed().as_nanos() < u128::from(ns) {
                std::hint::spin_loop();
            }
        };
        Moment::now();
        // The second time, the clocks have been compared.
        for _ in 0..2 {
            let outer = Instant::now();
            let moment = Moment::now();
            let inner = Instant::now();
            pause(2 * COMPARED_NS);
            let least = inner.elapsed().as_nanos() as u64;
            let elapsed = moment.elapsed_ns();
            let most = outer.elapsed().as_nanos() as u64;
            let tolerance = least / 1_000;
            assert!((least - tolerance..=most + tolerance).contains(&elapsed), "{least} <= {elapsed} <= {most}");
        }
        assert!(RATE.get().is_some());
    }
}
