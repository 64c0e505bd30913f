//! The events of a profile in the order of time, and how they nest.

use std::ops::Range;
use std::sync::Arc;

use crate::memory::DeviceMemory;
use crate::stats::events::{Activity, Collected, Event, Launched, NamedRange, Read, Remark, Span};

/// All events.
pub(super) struct Timeline {
    pub(super) launches: Vec<Arc<Launched>>,
    pub(super) spans: Vec<Arc<Span>>,
    /// The spans in which threads took part in replays of others.
    helps: Vec<Arc<Span>>,
    /// The parts of the program that it has named. They are around what threads did, and no activity themselves.
    pub(super) ranges: Vec<Arc<NamedRange>>,
    /// In the order in which they happened.
    pub(super) reads: Vec<Read>,
    pub(super) remarks: Vec<Remark>,
    /// The names of threads, by number.
    pub(super) threads: Vec<String>,
    /// The thread that asked for the profile.
    pub(super) thread: u32,
    pub(super) time: Range<u64>,
    pub(super) peak_bytes: usize,
    /// The memory of devices that have their own.
    pub(super) devices: Vec<DeviceMemory>,
    /// What threads did, by thread and time.
    pub(super) nodes: Vec<Node>,
    /// The times in which launches ran.
    pub(super) running: Intervals,
}

/// Something that a thread did, and inside of which other thing it did it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) what: What,
    pub(super) thread: u32,
    pub(super) started_ns: u64,
    pub(super) ended_ns: u64,
    /// The position of the node around it.
    pub(super) parent: Option<usize>,
    /// Its time without that of the nodes in it.
    pub(super) own_ns: u64,
}

/// The positions of what a node is about, among spans or launches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    Span(usize),
    /// A part of a launch.
    Launch(usize),
}

impl Timeline {
    pub(super) fn new(collected: Collected) -> Timeline {
        let Collected { events, threads, started_ns, ended_ns, thread, peak_bytes, devices } = collected;
        let (mut launches, mut spans, mut ranges) = (Vec::new(), Vec::new(), Vec::new());
        let (mut reads, mut remarks) = (Vec::new(), Vec::new());
        for event in events {
            match event {
                Event::Launch(launch) => launches.push(launch),
                Event::Span(span) => spans.push(span),
                Event::Range(range) => ranges.push(range),
                Event::Read(read) => reads.push(read),
                Event::Remark(remark) => remarks.push(remark),
            }
        }
        launches.sort_by_key(|launch| launch.queued_ns);
        spans.sort_by_key(|span| span.started_ns);
        reads.sort_by_key(|read| read.at_ns);
        let helps = spans.iter().filter(|span| span.activity == Activity::Help).cloned().collect();
        let running = Intervals::new(launches.iter().map(|launch| launch.started_ns..launch.ended_ns));
        let nodes = nest(nodes(&launches, &spans));
        let time = started_ns..ended_ns.max(started_ns);
        Timeline {
            launches,
            spans,
            helps,
            ranges,
            reads,
            remarks,
            threads,
            thread,
            time,
            peak_bytes,
            devices,
            nodes,
            running,
        }
    }

    /// The activity of a node; none for parts of launches.
    pub(super) fn activity(&self, node: &Node) -> Option<&Activity> {
        self.span(node).map(|span| &span.activity)
    }

    pub(super) fn span(&self, node: &Node) -> Option<&Span> {
        match node.what {
            What::Span(position) => Some(&self.spans[position]),
            What::Launch(_) => None,
        }
    }

    /// The nodes around a node, the innermost first.
    pub(super) fn around(&self, node: &Node) -> impl Iterator<Item = &Node> {
        std::iter::successors(node.parent, |&parent| self.nodes[parent].parent).map(|position| &self.nodes[position])
    }

    /// The time that launches ran in the profile.
    pub(super) fn running_ns(&self) -> u64 {
        self.running.covered(&self.time)
    }

    /// The part of a time in which no launch ran.
    pub(super) fn idle_ns(&self, node: &Node) -> u64 {
        let time = node.started_ns..node.ended_ns;
        (node.ended_ns - node.started_ns) - self.running.covered(&time)
    }

    /// The number of threads that worked on a launch.
    pub(super) fn threads_of(&self, launch: &Launched) -> usize {
        let mut threads: Vec<u32> = launch.parts.iter().map(|part| part.thread).collect();
        if launch.is_tiled {
            // Those of a thread do not overlap, so only the last few can.
            let before = self.helps.partition_point(|span| span.started_ns < launch.ended_ns);
            let last = self.helps[..before].iter().rev().take(2 * self.threads.len());
            threads.extend(last.filter(|span| launch.started_ns < span.ended_ns).map(|span| span.thread));
        }
        threads.sort_unstable();
        threads.dedup();
        threads.len().max(1)
    }
}

fn nodes(launches: &[Arc<Launched>], spans: &[Arc<Span>]) -> Vec<Node> {
    let node = |what, thread, started_ns, ended_ns: u64| Node {
        what,
        thread,
        started_ns,
        ended_ns,
        parent: None,
        own_ns: ended_ns.saturating_sub(started_ns),
    };
    let of_spans = spans.iter().enumerate();
    let mut nodes: Vec<Node> = of_spans
        .map(|(position, span)| node(What::Span(position), span.thread, span.started_ns, span.ended_ns))
        .collect();
    for (position, launch) in launches.iter().enumerate() {
        let part = |part: &crate::stats::events::Part| {
            node(What::Launch(position), part.thread, part.started_ns, part.ended_ns.max(part.started_ns))
        };
        nodes.extend(launch.parts.iter().map(part));
    }
    nodes
}

/// Sorts nodes, and finds the one around each.
fn nest(mut nodes: Vec<Node>) -> Vec<Node> {
    nodes.sort_by_key(|node| (node.thread, node.started_ns, std::cmp::Reverse(node.ended_ns)));
    let mut open: Vec<usize> = Vec::new();
    for position in 0..nodes.len() {
        let Node { thread, started_ns, ended_ns, .. } = nodes[position];
        while open.pop_if(|outer| nodes[*outer].thread != thread || nodes[*outer].ended_ns <= started_ns).is_some() {}
        if let Some(&outer) = open.last() {
            nodes[position].parent = Some(outer);
            // The clock of a launch is read again where it is noted, so its end may be a little later.
            let inside = ended_ns.min(nodes[outer].ended_ns) - started_ns;
            nodes[outer].own_ns = nodes[outer].own_ns.saturating_sub(inside);
        }
        open.push(position);
    }
    nodes
}

/// Times that do not overlap, in ascending order.
#[derive(Default)]
pub(super) struct Intervals(Vec<Range<u64>>);

impl Intervals {
    fn new(times: impl Iterator<Item = Range<u64>>) -> Intervals {
        let mut times: Vec<Range<u64>> = times.collect();
        times.sort_by_key(|time| time.start);
        let mut merged: Vec<Range<u64>> = Vec::new();
        for time in times {
            match merged.last_mut() {
                Some(last) if time.start <= last.end => last.end = last.end.max(time.end),
                _ => merged.push(time),
            }
        }
        Intervals(merged)
    }

    /// The part of a time that lies in these.
    fn covered(&self, time: &Range<u64>) -> u64 {
        let first = self.0.partition_point(|interval| interval.end <= time.start);
        let inside = self.0[first..].iter().take_while(|interval| interval.start < time.end);
        inside.map(|interval| interval.end.min(time.end) - interval.start.max(time.start)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(thread: u32, time: Range<u64>) -> Node {
        let own_ns = time.end - time.start;
        Node { what: What::Span(0), thread, started_ns: time.start, ended_ns: time.end, parent: None, own_ns }
    }

    #[test]
    fn nodes_of_a_thread_nest_and_have_time_of_their_own() {
        let nodes = nest(vec![node(0, 10..20), node(1, 0..5), node(0, 0..100), node(0, 12..15), node(0, 30..101)]);
        let found: Vec<_> = nodes.iter().map(|node| (node.started_ns, node.parent, node.own_ns)).collect();
        assert_eq!(found, [(0, None, 20), (10, Some(0), 7), (12, Some(1), 3), (30, Some(0), 71), (0, None, 5)]);
    }

    #[test]
    fn overlapping_times_count_once() {
        let times = Intervals::new([5..9, 0..2, 1..3, 8..10].into_iter());
        assert_eq!(times.0, [0..3, 5..10]);
        assert_eq!([0..10, 2..6, 3..5, 9..20].map(|time| times.covered(&time)), [8, 2, 0, 1]);
    }
}
