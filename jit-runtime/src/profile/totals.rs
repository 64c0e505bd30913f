//! How long what took, over all.

use std::time::Duration;

use super::timeline::{Timeline, What};
use crate::memory::DeviceMemory;
use crate::stats::events::Activity;

/// How long what took, over all threads unless stated otherwise.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Totals {
    /// From the begin to the end of the profile.
    pub wall_time: Duration,
    /// The time in which at least one launch ran.
    pub kernel_time: Duration,
    /// The time that threads worked on launches, added up.
    pub busy_time: Duration,
    /// The time that compilations took, added up.
    pub compile_time: Duration,
    /// Kernels that were compiled.
    pub compiles: u64,
    /// Kernels that were compiled again, with more effort, in the background.
    pub recompiles: u64,
    /// Kernels that were launched, and steps of library calls.
    pub launches: u64,
    /// Evaluations of arrays.
    pub evaluations: u64,
    /// Calls of traced functions.
    pub traces: u64,
    /// Calls of frozen functions that were recorded.
    pub recordings: u64,
    /// Calls of frozen functions that were replayed.
    pub replays: u64,
    /// How often the host read elements.
    pub reads: u64,
    /// Bytes of arrays that launches read, see [`KernelProfile::bytes_read`](super::KernelProfile::bytes_read).
    pub bytes_read: u64,
    /// Bytes of arrays that launches wrote.
    pub bytes_written: u64,
    /// The most bytes that were in live arrays of the host at a time, those from before the profile included.
    pub peak_bytes: usize,
    /// The memory of each GPU in use at the end of the profile. Its peak is that of the profile, those bytes included
    /// that were in use before.
    pub devices: Vec<DeviceMemory>,
    /// Threads that worked on launches.
    pub threads: usize,
    /// What the thread that made the profile did.
    pub host: HostTime,
}

/// What the thread that made the profile did: the times add up to the wall time.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct HostTime {
    /// It traced functions. Operators outside of `#[jit]` and `#[freeze]` functions are part of `other`.
    pub tracing: Duration,
    /// It scheduled kernels, looked them up and launched them, or replayed recordings.
    pub scheduling: Duration,
    /// It compiled.
    pub compiling: Duration,
    /// It worked on launches: small ones, and those that it would have waited for.
    pub kernels: Duration,
    /// It waited, and there was nothing to work on.
    pub waiting: Duration,
    /// The program's own code.
    pub other: Duration,
}

impl Totals {
    pub(super) fn of(timeline: &Timeline) -> Totals {
        let mut totals = Totals {
            wall_time: Duration::from_nanos(timeline.time.end - timeline.time.start),
            kernel_time: Duration::from_nanos(timeline.running_ns()),
            launches: timeline.launches.len() as u64,
            reads: timeline.reads.len() as u64,
            peak_bytes: timeline.peak_bytes,
            devices: timeline.devices.clone(),
            host: HostTime::of(timeline),
            ..Totals::default()
        };
        let mut threads = Vec::new();
        for launch in &timeline.launches {
            totals.bytes_read += launch.traffic.read as u64;
            totals.bytes_written += launch.traffic.written as u64;
            for part in &launch.parts {
                totals.busy_time += Duration::from_nanos(part.ended_ns.saturating_sub(part.started_ns));
                threads.push(part.thread);
            }
        }
        for span in &timeline.spans {
            let time = Duration::from_nanos(span.ended_ns - span.started_ns);
            match &span.activity {
                Activity::Trace(_) => totals.traces += 1,
                Activity::Evaluation(_) => totals.evaluations += 1,
                Activity::Replay(..) => totals.replays += 1,
                Activity::Recording(_) => totals.recordings += 1,
                Activity::Compile(compiled) => {
                    totals.compile_time += time;
                    *(if compiled.is_better { &mut totals.recompiles } else { &mut totals.compiles }) += 1;
                }
                Activity::Help => {
                    totals.busy_time += time;
                    threads.push(span.thread);
                }
                Activity::Wait => {}
            }
        }
        threads.sort_unstable();
        threads.dedup();
        totals.threads = threads.len();
        totals
    }
}

impl HostTime {
    fn of(timeline: &Timeline) -> HostTime {
        let mut host = HostTime::default();
        let mut known = Duration::ZERO;
        for node in timeline.nodes.iter().filter(|node| node.thread == timeline.thread) {
            let place = match (node.what, timeline.activity(node)) {
                (_, Some(Activity::Trace(_) | Activity::Recording(_))) => &mut host.tracing,
                (_, Some(Activity::Evaluation(_) | Activity::Replay(..))) => &mut host.scheduling,
                (_, Some(Activity::Compile(_))) => &mut host.compiling,
                (_, Some(Activity::Wait)) => &mut host.waiting,
                (What::Launch(_), _) | (_, Some(Activity::Help) | None) => &mut host.kernels,
            };
            let own = Duration::from_nanos(node.own_ns);
            *place += own;
            known += own;
        }
        let wall = Duration::from_nanos(timeline.time.end - timeline.time.start);
        host.other = wall.saturating_sub(known);
        host
    }
}
