//! What precedes a launch on its thread, with the time that it took: tracing, scheduling, finding the code.
//!
//! The language measures tracing and scheduling, and knows nothing of launches; launches take what was measured from
//! here. Nothing is measured while nobody observes launches.

use std::cell::Cell;
use std::time::Duration;

use super::{is_observed, now_ns};

/// Where the code of a launch came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CacheOutcome {
    /// It was in memory.
    Memory,
    /// It was read from the disk cache.
    Disk,
    /// It was compiled.
    Compiled,
    /// The recording of a frozen function or an executor had it: nothing was looked up.
    Recording,
    /// The launch is a step of a library call, which needs no compilation.
    Library,
}

impl CacheOutcome {
    /// Whether nothing had to be compiled or read.
    pub(crate) fn is_hit(self) -> bool {
        !matches!(self, CacheOutcome::Disk | CacheOutcome::Compiled)
    }
}

/// Where the code of a launch came from, and what preceded it, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Preparation {
    pub(crate) outcome: CacheOutcome,
    pub(crate) trace_ns: u64,
    pub(crate) schedule_ns: u64,
    pub(crate) look_up_ns: u64,
}

impl Preparation {
    /// That of a launch which looks nothing up.
    pub(crate) const fn none(outcome: CacheOutcome) -> Preparation {
        Preparation { outcome, trace_ns: 0, schedule_ns: 0, look_up_ns: 0 }
    }

    /// That of a launch whose code was found in some time, which includes that of compiling or reading it.
    pub(crate) fn found(outcome: CacheOutcome, since_ns: u64, made_in: Duration) -> Preparation {
        if since_ns == 0 {
            return Preparation::none(outcome);
        }
        let Measured { trace_ns, schedule_ns, .. } = MEASURED.get();
        let made_ns = if outcome.is_hit() { 0 } else { made_in.as_nanos() as u64 };
        let look_up_ns = (now_ns() - since_ns).saturating_sub(made_ns);
        Preparation { outcome, trace_ns, schedule_ns, look_up_ns }
    }
}

/// What this thread did for its next launches.
#[derive(Clone, Copy)]
struct Measured {
    /// How many functions that are traced are open.
    depth: u32,
    began_ns: u64,
    /// Tracing since the last evaluation.
    traced_ns: u64,
    /// Tracing and scheduling of the evaluation in progress.
    trace_ns: u64,
    schedule_ns: u64,
}

thread_local! {
    static MEASURED: Cell<Measured> =
        const { Cell::new(Measured { depth: 0, began_ns: 0, traced_ns: 0, trace_ns: 0, schedule_ns: 0 }) };
}

/// A moment of [`now_ns`], or zero if nobody observes launches.
#[inline]
pub(crate) fn moment() -> u64 {
    if is_observed() { now_ns().max(1) } else { 0 }
}

/// Notes that tracing a function begins; the functions that it calls are a part of it.
#[inline]
pub fn begin_trace() {
    let mut measured = MEASURED.get();
    if measured.depth == 0 {
        measured.began_ns = moment();
    }
    measured.depth += 1;
    MEASURED.set(measured);
}

/// Notes that tracing a function ends.
#[inline]
pub fn end_trace() {
    let mut measured = MEASURED.get();
    measured.depth = measured.depth.saturating_sub(1);
    if measured.depth == 0 && measured.began_ns > 0 {
        measured.traced_ns += now_ns() - measured.began_ns;
    }
    MEASURED.set(measured);
}

/// The evaluation that a thread schedules and launches.
#[derive(Debug)]
pub struct Scheduling {
    began_ns: u64,
}

/// Notes that an evaluation begins: what was traced since the last one is for its kernels.
#[inline]
#[must_use]
pub fn begin_scheduling() -> Scheduling {
    Scheduling { began_ns: moment() }
}

impl Scheduling {
    /// Notes that the kernels of the evaluation are built.
    #[inline]
    pub fn end(self) {
        let mut measured = MEASURED.get();
        measured.schedule_ns = if self.began_ns > 0 { now_ns() - self.began_ns } else { 0 };
        measured.trace_ns = std::mem::take(&mut measured.traced_ns);
        MEASURED.set(measured);
    }
}
