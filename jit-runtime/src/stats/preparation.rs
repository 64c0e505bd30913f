//! What precedes a launch on its thread, with the time that it took: tracing, scheduling, finding the code.
//!
//! The language measures tracing and scheduling, and knows nothing of launches; launches take what was measured from
//! here. Nothing is measured while nobody observes launches.

use std::cell::Cell;
use std::time::Duration;

use super::is_observed;
use crate::clock::Moment;

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

/// Where the code of a launch came from, and what preceded it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Preparation {
    pub(crate) outcome: CacheOutcome,
    pub(crate) trace_time: Duration,
    pub(crate) schedule_time: Duration,
    pub(crate) look_up_time: Duration,
}

impl Preparation {
    /// That of a launch which looks nothing up.
    pub(crate) const fn none(outcome: CacheOutcome) -> Preparation {
        let (trace_time, schedule_time, look_up_time) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        Preparation { outcome, trace_time, schedule_time, look_up_time }
    }

    /// That of a launch whose code was found since a moment; the time includes that of compiling or reading it.
    pub(crate) fn found(outcome: CacheOutcome, since: Option<Moment>, made_in: Duration) -> Preparation {
        let Some(since) = since else { return Preparation::none(outcome) };
        let elapsed = since.elapsed();
        let look_up_time = if outcome.is_hit() { elapsed } else { elapsed.saturating_sub(made_in) };
        let Evaluation { trace_time, schedule_time, .. } = EVALUATION.get();
        Preparation { outcome, trace_time, schedule_time, look_up_time }
    }
}

/// The functions that this thread traces.
#[derive(Clone, Copy)]
struct Tracing {
    /// How many are open.
    depth: u32,
    began: Option<Moment>,
    /// The time of those since the last evaluation.
    time: Duration,
}

/// The evaluation of this thread that is in progress.
#[derive(Clone, Copy)]
struct Evaluation {
    trace_time: Duration,
    schedule_time: Duration,
    /// When the look-up of the first launch began, until that takes it.
    scheduled: Option<Moment>,
}

thread_local! {
    static TRACING: Cell<Tracing> = const { Cell::new(Tracing { depth: 0, began: None, time: Duration::ZERO }) };
    static EVALUATION: Cell<Evaluation> = const {
        Cell::new(Evaluation { trace_time: Duration::ZERO, schedule_time: Duration::ZERO, scheduled: None })
    };
}

/// The moment at which a look-up begins; none if nobody observes launches. That of the first launch of an evaluation is
/// the end of scheduling, or the begin of the evaluation if there was nothing to schedule.
#[inline]
pub(crate) fn begin_look_up() -> Option<Moment> {
    if !is_observed() {
        return None;
    }
    let evaluation = EVALUATION.get();
    if evaluation.scheduled.is_some() {
        EVALUATION.set(Evaluation { scheduled: None, ..evaluation });
    }
    Some(evaluation.scheduled.unwrap_or_else(Moment::now))
}

/// Notes that something else than a look-up follows: a library call, or the end of the evaluation.
#[inline]
pub fn end_look_ups() {
    EVALUATION.set(Evaluation { scheduled: None, ..EVALUATION.get() });
}

/// Notes that tracing a function begins; the functions that it calls are a part of it.
#[inline]
pub fn begin_trace() {
    let mut tracing = TRACING.get();
    if tracing.depth == 0 {
        tracing.began = is_observed().then(Moment::now);
    }
    tracing.depth += 1;
    TRACING.set(tracing);
}

/// Notes that tracing a function ends.
#[inline]
pub fn end_trace() {
    let mut tracing = TRACING.get();
    tracing.depth = tracing.depth.saturating_sub(1);
    if let (0, Some(began)) = (tracing.depth, tracing.began) {
        tracing.time += began.elapsed();
    }
    TRACING.set(tracing);
}

/// An evaluation that is being scheduled.
#[derive(Clone, Copy, Debug)]
pub struct Scheduling {
    began: Option<Moment>,
}

/// Notes that an evaluation begins: what was traced since the last one is for its kernels.
#[inline]
#[must_use]
pub fn begin_scheduling() -> Scheduling {
    let began = is_observed().then(Moment::now);
    if began.is_some() {
        EVALUATION.set(Evaluation { trace_time: Duration::ZERO, ..EVALUATION.get() });
    }
    Scheduling { began }
}

impl Scheduling {
    /// Notes that the kernels of the evaluation are built, and that the first look-up begins.
    #[inline]
    pub fn end(self) {
        let Some(began) = self.began else { return };
        let now = Moment::now();
        begin_look_ups(now, Duration::from_nanos(now.ns_since(began)));
    }

    /// Notes that the kernels were found by their trace: the first look-up began with the evaluation. If they do not
    /// fit, they are built, and [`Scheduling::end`] follows.
    #[inline]
    pub fn end_as_known(self) {
        let Some(began) = self.began else { return };
        begin_look_ups(began, Duration::ZERO);
    }
}

#[inline]
fn begin_look_ups(at: Moment, schedule_time: Duration) {
    let mut tracing = TRACING.get();
    let trace_time = EVALUATION.get().trace_time + std::mem::take(&mut tracing.time);
    TRACING.set(tracing);
    EVALUATION.set(Evaluation { trace_time, schedule_time, scheduled: Some(at) });
}
