//! Statistics of the runtime: counters, a record of each launch, and the events of running profiles.
//!
//! Counters are relaxed atomics. Records are in a ring of bounded size until they are requested. They point to facts
//! about the kernel and are converted to a readable form on request.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::{self, Moment};
use crate::fork::Held;
use crate::sync::{Mutex, persist};
use crate::{Label, Site};

use crate::config::Device;

pub mod events;
mod facts;
mod preparation;
mod watch;

use events::Traffic;
pub(crate) use facts::{Facts, ParamFacts};
pub use preparation::{CacheOutcome, Scheduling, begin_scheduling, begin_trace, end_look_ups, end_trace};
pub(crate) use preparation::{Preparation, begin_look_up};
pub(crate) use watch::{Member, Watched, WatchedBatch};

/// The number of launches that are remembered; older ones are dropped.
const MAX_RECORDS: usize = 4096;

static TRACES: AtomicU64 = AtomicU64::new(0);
static LAUNCHES: AtomicU64 = AtomicU64::new(0);
static LANES: AtomicU64 = AtomicU64::new(0);
static HITS: AtomicU64 = AtomicU64::new(0);
static COMPILES: AtomicU64 = AtomicU64::new(0);
static RECOMPILES: AtomicU64 = AtomicU64::new(0);
static LLVM_LOADS: AtomicU64 = AtomicU64::new(0);
static DISK_HITS: AtomicU64 = AtomicU64::new(0);
static PROMOTED: AtomicU64 = AtomicU64::new(0);
static EVALUATIONS: AtomicU64 = AtomicU64::new(0);
static COMPILE_NS: AtomicU64 = AtomicU64::new(0);
static BUSY_NS: AtomicU64 = AtomicU64::new(0);
/// All of them.
static COUNTERS: [&AtomicU64; 12] = [
    &TRACES,
    &LAUNCHES,
    &LANES,
    &HITS,
    &COMPILES,
    &RECOMPILES,
    &LLVM_LOADS,
    &DISK_HITS,
    &PROMOTED,
    &EVALUATIONS,
    &COMPILE_NS,
    &BUSY_NS,
];
/// Who is told of launches: [`HISTORY`], [`PROFILE`], or both.
static OBSERVERS: AtomicU8 = AtomicU8::new(HISTORY);
/// [`kernel_history`] lists launches.
const HISTORY: u8 = 1;
/// A profile runs.
const PROFILE: u8 = 2;
static RECORDS: Mutex<Records> = Mutex::new(Records { parts: VecDeque::new(), count: 0 });

/// Statistics since the start or [`reset_stats`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Calls of traced functions.
    pub traces: u64,
    /// Kernels that were launched, and steps of library calls.
    pub launches: u64,
    /// Lanes of all launches.
    pub lanes: u64,
    /// Launches whose code was in the cache.
    pub cache_hits: u64,
    /// Kernels that were compiled.
    pub compiles: u64,
    /// Kernels that ran so often that they were recompiled, with more effort.
    pub recompiles: u64,
    /// Kernels whose code was read from the disk cache instead of being compiled.
    pub disk_hits: u64,
    /// How often LLVM was loaded: at most once in a process, when the first kernel is compiled.
    pub llvm_loads: u64,
    /// Literals that changed often and became parameters of a kernel.
    pub promoted_literals: u64,
    /// Evaluations of arrays.
    pub evaluations: u64,
    /// Time that compilation took.
    pub compile_time: Duration,
    /// Total time that cores spent on launches.
    pub busy_time: Duration,
}

/// Returns the current counters.
#[must_use]
pub fn stats() -> Stats {
    Stats {
        traces: TRACES.load(Ordering::Relaxed),
        launches: LAUNCHES.load(Ordering::Relaxed),
        lanes: LANES.load(Ordering::Relaxed),
        cache_hits: HITS.load(Ordering::Relaxed),
        compiles: COMPILES.load(Ordering::Relaxed),
        recompiles: RECOMPILES.load(Ordering::Relaxed),
        disk_hits: DISK_HITS.load(Ordering::Relaxed),
        llvm_loads: LLVM_LOADS.load(Ordering::Relaxed),
        promoted_literals: PROMOTED.load(Ordering::Relaxed),
        evaluations: EVALUATIONS.load(Ordering::Relaxed),
        compile_time: Duration::from_nanos(COMPILE_NS.load(Ordering::Relaxed)),
        busy_time: Duration::from_nanos(BUSY_NS.load(Ordering::Relaxed)),
    }
}

/// Counts a call of a traced function.
pub fn count_trace() {
    TRACES.fetch_add(1, Ordering::Relaxed);
}

/// Counts an evaluation of arrays.
pub fn count_evaluation() {
    EVALUATIONS.fetch_add(1, Ordering::Relaxed);
}

/// Counts that LLVM was loaded.
#[cfg(all(feature = "llvm", target_os = "linux"))]
pub(crate) fn count_llvm_load() {
    LLVM_LOADS.fetch_add(1, Ordering::Relaxed);
}

/// Counts a kernel that was read from the disk cache.
#[cfg(loads_code)]
pub(crate) fn count_disk_hit() {
    DISK_HITS.fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn count_promoted(literals: usize) {
    PROMOTED.fetch_add(literals as u64, Ordering::Relaxed);
}

/// Sets all counters to zero.
pub fn reset_stats() {
    COUNTERS.iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
}

/// One launch.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct KernelRecord {
    /// The name of the kernel.
    pub label: Label,
    /// The line of the user's program that caused the launch.
    pub site: Option<Site>,
    /// Hash of kernel, device and code options, as in [`crate::cache::CacheEntry`]; 0 for library calls.
    pub hash: u64,
    /// Where it ran.
    pub device: Device,
    /// How many lanes.
    pub width: usize,
    /// The number of operations in the kernel; 0 for library calls.
    pub ops: usize,
    /// The number of buffers that the kernel reads.
    pub inputs: usize,
    /// The number of buffers that the kernel writes.
    pub outputs: usize,
    /// Whether nothing had to be compiled or read.
    pub is_hit: bool,
    /// Where the code came from.
    pub outcome: CacheOutcome,
    /// The time that tracing `#[jit]` functions took since the evaluation before. Together with the time of scheduling
    /// it belongs to all kernels of an evaluation; both are zero for replays and library calls.
    pub trace_time: Duration,
    /// The time that building the kernels of the evaluation took; zero if they were found by their trace.
    pub schedule_time: Duration,
    /// The time that finding the code took, without reading it from disk and without compiling it. It includes waiting
    /// for another thread or process that was compiling it. If kernels are found by their trace, the time of the first
    /// one includes describing the trace.
    pub look_up_time: Duration,
    /// The time that compilation took, whenever that was, also in another process.
    pub compile_time: Duration,
    /// The time that reading the code from disk took, whenever that was; none if this process compiled it.
    pub load_time: Option<Duration>,
    /// The number of lanes that the code computes together.
    pub lanes_per_step: usize,
    /// Bytes of generated code; 0 for interpreted kernels.
    pub code_bytes: usize,
    /// The time from the start of the first lanes to the end of the last ones; none if the launch is not done.
    pub execution_time: Option<Duration>,
}

/// The launches since the last call, oldest first: at most the last 4096.
#[must_use]
pub fn kernel_history() -> Vec<KernelRecord> {
    // The list retains its memory, so that recording a launch does not allocate.
    let (count, parts): (usize, Vec<Part>) = {
        let mut records = RECORDS.lock();
        (std::mem::take(&mut records.count), records.parts.drain(..).collect())
    };
    let each = parts.iter().flat_map(|part| match part {
        Part::One(record) => std::slice::from_ref(record),
        Part::Many(records) => &records[..],
    });
    each.skip(count.saturating_sub(MAX_RECORDS)).map(Record::describe).collect()
}

/// Whether anybody observes launches.
#[inline]
fn is_observed() -> bool {
    OBSERVERS.load(Ordering::Relaxed) != 0
}

/// Switches the recording of launches for [`kernel_history`] on (the default) or off.
pub fn set_kernel_history(is_on: bool) {
    if is_on {
        OBSERVERS.fetch_or(HISTORY, Ordering::Relaxed);
    } else {
        OBSERVERS.fetch_and(!HISTORY, Ordering::Relaxed);
    }
}

/// The record of a launch.
pub(crate) struct Record {
    pub(crate) facts: Arc<Facts>,
    pub(crate) label: Label,
    pub(crate) site: Option<Site>,
    pub(crate) width: usize,
    pub(crate) preparation: Preparation,
    pub(crate) time: Time,
}

/// How long a launch took, in nanoseconds.
pub(crate) enum Time {
    Done(u64),
    /// Zero until the launch is done.
    Later(Arc<AtomicU64>),
}

impl Record {
    fn describe(&self) -> KernelRecord {
        let facts = &self.facts;
        let ns = match &self.time {
            Time::Done(ns) => *ns,
            Time::Later(ns) => ns.load(Ordering::Acquire),
        };
        KernelRecord {
            label: self.label,
            site: self.site.or(facts.site),
            hash: facts.hash,
            device: facts.device,
            width: self.width,
            ops: facts.ops,
            inputs: facts.params.iter().filter(|param| param.reads).count(),
            outputs: facts.params.iter().filter(|param| param.writes).count(),
            is_hit: self.preparation.outcome.is_hit(),
            outcome: self.preparation.outcome,
            trace_time: self.preparation.trace_time,
            schedule_time: self.preparation.schedule_time,
            look_up_time: self.preparation.look_up_time,
            compile_time: facts.compile_time,
            load_time: facts.load_time,
            lanes_per_step: facts.lanes_per_step,
            code_bytes: facts.code_bytes,
            execution_time: (ns > 0).then(|| Duration::from_nanos(ns)),
        }
    }
}

/// The launches that are remembered.
#[derive(Default)]
struct Records {
    parts: VecDeque<Part>,
    /// Launches in all parts.
    count: usize,
}

enum Part {
    One(Record),
    /// Those of a replay.
    Many(Arc<[Record]>),
}

impl Part {
    fn count(&self) -> usize {
        match self {
            Part::One(_) => 1,
            Part::Many(records) => records.len(),
        }
    }
}

impl Records {
    /// Adds launches, and drops the oldest ones beyond the bound.
    fn push(&mut self, part: Part) {
        if self.parts.capacity() == 0 {
            // Allocated at once, so that launches do not allocate whenever it has to grow.
            self.parts.reserve_exact(MAX_RECORDS + 1);
        }
        self.count += part.count();
        self.parts.push_back(part);
        while let Some(first) = self.parts.front().map(Part::count).filter(|first| self.count - first >= MAX_RECORDS) {
            self.count -= first;
            self.parts.pop_front();
        }
    }
}

/// Launches that are counted together, repeatedly.
pub(crate) struct Planned {
    records: Arc<[Record]>,
    lanes: u64,
}

impl Planned {
    pub(crate) fn new(records: Vec<Record>) -> Planned {
        let lanes = records.iter().map(|record| record.width as u64).sum();
        Planned { records: records.into(), lanes }
    }
}

/// Remembers a launch that has just run on the calling thread.
#[inline]
pub(crate) fn record_done(elapsed_ns: u64, record: impl FnOnce(Time) -> Record, traffic: impl FnOnce() -> Traffic) {
    let observers = OBSERVERS.load(Ordering::Relaxed);
    if observers == 0 || IS_UNOBSERVED.get() {
        return;
    }
    let record = record(Time::Done(elapsed_ns));
    if observers & PROFILE != 0 {
        Watched::ran_here(&record, traffic, elapsed_ns);
    }
    if observers & HISTORY != 0 {
        RECORDS.lock().push(Part::One(record));
    }
}

/// Remembers a launch that is being queued. Returns it if a profile watches it.
pub(crate) fn record_queued(
    time: &Arc<AtomicU64>,
    record: impl FnOnce(Time) -> Record,
    traffic: impl FnOnce() -> Traffic,
) -> Option<Box<Watched>> {
    let observers = OBSERVERS.load(Ordering::Relaxed);
    if observers == 0 || IS_UNOBSERVED.get() {
        return None;
    }
    let record = record(Time::Later(Arc::clone(time)));
    let watched = if observers & PROFILE != 0 { Some(Watched::new(&record, traffic())) } else { None };
    if observers & HISTORY != 0 {
        RECORDS.lock().push(Part::One(record));
    }
    watched
}

thread_local! {
    static IS_UNOBSERVED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function whose library calls are not counted and recorded: those of a machine that lets the host make its
/// own, which it has recorded.
#[cfg(feature = "cuda")]
pub(crate) fn unobserved<R>(body: impl FnOnce() -> R) -> R {
    let before = IS_UNOBSERVED.replace(true);
    let result = body();
    IS_UNOBSERVED.set(before);
    result
}

pub(crate) fn count_launch(launches: &AtomicU64, width: usize, is_hit: bool) {
    LAUNCHES.fetch_add(1, Ordering::Relaxed);
    LANES.fetch_add(width as u64, Ordering::Relaxed);
    launches.fetch_add(1, Ordering::Relaxed);
    if is_hit {
        HITS.fetch_add(1, Ordering::Relaxed);
    }
}

/// Who is told of launches.
#[derive(Clone, Copy)]
pub(crate) struct Observers(u8);

impl Observers {
    #[inline]
    pub(crate) fn now() -> Observers {
        Observers(OBSERVERS.load(Ordering::Relaxed))
    }

    /// Whether a profile runs.
    #[inline]
    pub(crate) fn are_profiling(self) -> bool {
        self.0 & PROFILE != 0
    }
}

/// Counts launches whose code was available, and records them.
pub(crate) fn count_replayed(planned: &Planned, observers: Observers) {
    let count = planned.records.len() as u64;
    if observers.0 & HISTORY != 0 && count > 0 {
        RECORDS.lock().push(Part::Many(Arc::clone(&planned.records)));
    }
    LAUNCHES.fetch_add(count, Ordering::Relaxed);
    HITS.fetch_add(count, Ordering::Relaxed);
    LANES.fetch_add(planned.lanes, Ordering::Relaxed);
}

pub(crate) fn count_library_launch(width: usize) {
    if IS_UNOBSERVED.get() {
        return;
    }
    LAUNCHES.fetch_add(1, Ordering::Relaxed);
    LANES.fetch_add(width as u64, Ordering::Relaxed);
}

pub(crate) fn count_compile(time: Duration) {
    COMPILES.fetch_add(1, Ordering::Relaxed);
    COMPILE_NS.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
}

pub(crate) fn count_recompile() {
    RECOMPILES.fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn count_busy(ns: u64) {
    BUSY_NS.fetch_add(ns, Ordering::Relaxed);
}

/// Takes the locks, for a fork.
pub(crate) fn hold(held: &mut Vec<Held>) {
    held.extend(persist(|| RECORDS.try_lock()).map(|guard| Box::new(guard) as Held));
    events::hold(held);
}

/// Makes all launches seem to take no time: what depends on how long they took is then the same in every run. It is
/// called before anything is launched.
#[doc(hidden)]
pub fn stop_clock() {
    clock::stop();
}

/// Nanoseconds since some moment in this process.
pub(crate) fn now_ns() -> u64 {
    Moment::now().ns()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_counter_is_left_out_of_a_reset() {
        let Stats {
            traces,
            launches,
            lanes,
            cache_hits,
            compiles,
            recompiles,
            disk_hits,
            llvm_loads,
            promoted_literals,
            evaluations,
            compile_time,
            busy_time,
        } = Stats::default();
        let of_kernels = [cache_hits, compiles, recompiles, disk_hits, llvm_loads, promoted_literals];
        let counts = [&of_kernels[..], &[traces, launches, lanes, evaluations]].concat();
        assert_eq!(COUNTERS.len(), counts.len() + [compile_time, busy_time].len());
        assert!(COUNTERS.iter().any(|counter| std::ptr::eq(*counter, &raw const RECOMPILES)));
    }

    #[test]
    fn the_last_launches_are_remembered_whatever_they_were_noted_with() {
        let facts = crate::stats::Facts {
            label: "".into(),
            site: None,
            hash: 0,
            device: Device::Cpu,
            ops: 0,
            params: Vec::new(),
            reduces: false,
            has_loop: false,
            combining_scatters: 0,
            lanes_per_step: 1,
            code_bytes: 0,
            compile_time: Duration::ZERO,
            load_time: None,
        };
        let facts = Arc::new(facts);
        let record = |width| Record {
            facts: Arc::clone(&facts),
            label: "".into(),
            site: None,
            width,
            preparation: Preparation::none(CacheOutcome::Memory),
            time: Time::Done(0),
        };
        let mut records = Records::default();
        let planned: Arc<[Record]> = (0..100).map(record).collect();
        for _ in 0..50 {
            records.push(Part::Many(Arc::clone(&planned)));
            records.push(Part::One(record(100)));
        }
        let kept: usize = records.parts.iter().map(Part::count).sum();
        assert_eq!(records.count, kept);
        assert!((MAX_RECORDS..MAX_RECORDS + 100).contains(&kept), "{kept}");
        records.push(Part::Many((0..2 * MAX_RECORDS).map(record).collect()));
        assert_eq!((records.parts.len(), records.count), (1, 2 * MAX_RECORDS));
    }
}
