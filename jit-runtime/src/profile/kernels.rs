//! The launches of each kernel.

use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::timeline::Timeline;
use crate::stats::events::{Activity, Launched, Span};
use crate::{Label, Site};

/// The launches of one kernel, or of one library call, from one line.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KernelProfile {
    /// The name of the kernel or library call.
    pub label: Label,
    /// The line of the user's program that caused the launches.
    pub site: Option<Site>,
    /// Hash of kernel, device and code options; 0 for library calls.
    pub hash: u64,
    /// Whether it is a library call, such as a prefix sum, a product of matrices or a fill.
    pub is_library_call: bool,
    /// How often it was launched.
    pub launches: u64,
    /// How many of the launches were part of a replay.
    pub replayed: u64,
    /// The largest number of lanes.
    pub width: usize,
    /// The number of operations in the kernel; 0 for library calls.
    pub ops: usize,
    /// The time from the start of the first lanes to the end of the last ones, over all launches.
    pub total_time: Duration,
    /// The time that threads worked on it, added up.
    pub busy_time: Duration,
    /// The time that launches waited for others and for a thread.
    pub queued_time: Duration,
    /// The time that it took to compile in this profile.
    pub compile_time: Duration,
    /// Bytes that it read, over all launches. Each element of an array counts once for each launch, whether it comes
    /// from memory or a cache. An array at computed indices counts with one element for each access of each lane, and
    /// not more than the whole array; if the kernel has a loop, with the whole array.
    pub bytes_read: u64,
    /// Bytes that it wrote, counted as those that it read.
    pub bytes_written: u64,
    /// The most threads that worked on one launch.
    pub threads: usize,
}

impl KernelProfile {
    /// The average time of a launch.
    #[must_use]
    pub fn mean_time(&self) -> Duration {
        self.total_time.div_f64(self.launches.max(1) as f64)
    }

    /// Bytes read and written in a second.
    #[must_use]
    pub fn bytes_per_second(&self) -> f64 {
        let seconds = self.total_time.as_secs_f64();
        if seconds > 0.0 { (self.bytes_read + self.bytes_written) as f64 / seconds } else { 0.0 }
    }

    fn new(launch: &Launched) -> KernelProfile {
        KernelProfile {
            label: launch.label,
            site: launch.site,
            hash: launch.facts.hash,
            is_library_call: launch.facts.hash == 0 && launch.facts.ops == 0,
            launches: 0,
            replayed: 0,
            width: 0,
            ops: launch.facts.ops,
            total_time: Duration::ZERO,
            busy_time: Duration::ZERO,
            queued_time: Duration::ZERO,
            compile_time: Duration::ZERO,
            bytes_read: 0,
            bytes_written: 0,
            threads: 0,
        }
    }

    fn add(&mut self, launch: &Launched, threads: usize, is_replayed: bool) {
        let busy = launch.parts.iter().map(|part| part.ended_ns.saturating_sub(part.started_ns)).sum();
        self.launches += 1;
        self.replayed += u64::from(is_replayed);
        self.width = self.width.max(launch.width);
        self.total_time += launch.time();
        self.busy_time += Duration::from_nanos(busy);
        self.queued_time += Duration::from_nanos(launch.started_ns.saturating_sub(launch.queued_ns));
        self.bytes_read += launch.traffic.read as u64;
        self.bytes_written += launch.traffic.written as u64;
        self.threads = self.threads.max(threads);
    }
}

impl Launched {
    pub(super) fn time(&self) -> Duration {
        Duration::from_nanos(self.ended_ns.saturating_sub(self.started_ns))
    }
}

/// All kernels, those with the longest total time first.
pub(super) fn of(timeline: &Timeline) -> Vec<KernelProfile> {
    let replays = Replays::of(timeline);
    let mut kernels: Vec<KernelProfile> = Vec::new();
    let mut positions: FxHashMap<(u64, Label, Option<Site>), usize> = FxHashMap::default();
    for launch in &timeline.launches {
        let key = (launch.facts.hash, launch.label, launch.site);
        let position = *positions.entry(key).or_insert_with(|| {
            kernels.push(KernelProfile::new(launch));
            kernels.len() - 1
        });
        kernels[position].add(launch, timeline.threads_of(launch), replays.contain(launch));
    }
    for span in &timeline.spans {
        let Activity::Compile(compiled) = span.activity else { continue };
        // Of several lines that launch a kernel, one compiles it.
        let is_it = |kernel: &&mut KernelProfile| kernel.hash == compiled.hash && !kernel.is_library_call;
        let of_line = kernels.iter().position(|kernel| kernel.hash == compiled.hash && kernel.site == span.site);
        let found = match of_line {
            Some(position) => Some(&mut kernels[position]),
            None => kernels.iter_mut().find(is_it),
        };
        if let Some(kernel) = found {
            kernel.compile_time += Duration::from_nanos(span.ended_ns - span.started_ns);
        }
    }
    kernels.sort_by_key(|kernel| std::cmp::Reverse(kernel.total_time));
    kernels
}

/// The times of replays, by thread.
pub(super) struct Replays(FxHashMap<u32, Vec<(u64, u64)>>);

impl Replays {
    pub(super) fn of(timeline: &Timeline) -> Replays {
        let mut times: FxHashMap<u32, Vec<(u64, u64)>> = FxHashMap::default();
        let is_replay = |span: &&Arc<Span>| matches!(span.activity, Activity::Replay(..));
        for span in timeline.spans.iter().filter(is_replay) {
            times.entry(span.thread).or_default().push((span.started_ns, span.ended_ns));
        }
        Replays(times)
    }

    /// Whether a launch is part of a replay.
    pub(super) fn contain(&self, launch: &Launched) -> bool {
        let Some(times) = self.0.get(&launch.thread) else { return false };
        let after = times.partition_point(|&(started_ns, _)| started_ns <= launch.queued_ns);
        after > 0 && launch.queued_ns < times[after - 1].1
    }
}
