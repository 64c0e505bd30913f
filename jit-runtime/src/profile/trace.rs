//! Traces in the trace-event format of Chrome: "Trace Event Format", Google, 2016.
//!
//! Each kind of activity is a process of the trace, with a row for each thread.

use super::json::Object;
use super::timeline::Timeline;
use crate::Site;
use crate::config::Device;
use crate::stats::events::{Activity, Launched, NamedRange, Span};

/// The processes: their numbers and names.
const KERNELS: (u64, &str) = (1, "kernels, on the threads that ran them");
const CALLS: (u64, &str) = (2, "calls and evaluations");
const COMPILES: (u64, &str) = (3, "compilations");
const WAITS: (u64, &str) = (4, "waiting");
const RANGES: (u64, &str) = (5, "ranges that the program names");

/// All events.
pub(super) fn json(timeline: &Timeline) -> String {
    let mut trace = Trace { out: String::new(), begin_ns: timeline.time.start };
    trace.out.push_str("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    let last = trace.out.len();
    for (process, name) in [KERNELS, CALLS, COMPILES, WAITS, RANGES] {
        trace.name("process_name", process, 0, name);
        for (thread, name) in timeline.threads.iter().enumerate() {
            trace.name("thread_name", process, thread as u64, name);
        }
    }
    timeline.launches.iter().for_each(|launch| trace.launch(launch));
    timeline.spans.iter().for_each(|span| trace.span(span));
    for memory in &timeline.devices {
        trace.memory((memory.live_bytes, Some(memory.device)), timeline.time.end);
    }
    timeline.ranges.iter().for_each(|range| trace.range(range));
    // Each event begins with a comma.
    trace.out.remove(last);
    trace.out.push_str("]}\n");
    trace.out
}

struct Trace {
    out: String,
    begin_ns: u64,
}

impl Trace {
    fn event(&mut self, phase: &str, name: &str, process: u64, thread: u64) -> Object<'_> {
        self.out.push_str(",\n");
        let object = Object::begin(&mut self.out).text("ph", phase).text("name", name);
        object.number("pid", process).number("tid", thread)
    }

    fn name(&mut self, of: &str, process: u64, thread: u64, name: &str) {
        self.event("M", of, process, thread).object("args", |args| args.text("name", name)).end();
    }

    /// An event with a duration.
    fn complete(
        &mut self,
        name: &str,
        process: u64,
        thread: u32,
        (started_ns, ended_ns): (u64, u64),
        args: impl FnOnce(Object<'_>) -> Object<'_>,
    ) {
        let begin_ns = self.begin_ns;
        self.event("X", name, process, u64::from(thread))
            .microseconds("ts", started_ns.saturating_sub(begin_ns))
            .microseconds("dur", ended_ns.saturating_sub(started_ns))
            .object("args", args)
            .end();
    }

    fn launch(&mut self, launch: &Launched) {
        let facts = &launch.facts;
        for part in &launch.parts {
            let name = launch.label.as_str();
            self.complete(name, KERNELS.0, part.thread, (part.started_ns, part.ended_ns), |args| {
                line(args, launch.site)
                    .number("width", launch.width as u64)
                    .number("bytes", (launch.traffic.read + launch.traffic.written) as u64)
                    .number("ops", facts.ops as u64)
                    .text("hash", &format!("{:016x}", facts.hash))
                    .microseconds("queued_us", launch.started_ns.saturating_sub(launch.queued_ns))
            });
        }
        self.memory(launch.live_bytes, launch.queued_ns);
    }

    /// The bytes in live arrays at some time: of the host, or of a device that has memory of its own.
    fn memory(&mut self, (bytes, device): (usize, Option<Device>), at_ns: u64) {
        let begin_ns = self.begin_ns;
        let name = device.map_or_else(|| "memory".to_owned(), |device| format!("memory of {device}"));
        self.event("C", &name, KERNELS.0, 0)
            .microseconds("ts", at_ns.saturating_sub(begin_ns))
            .object("args", |args| args.number("bytes", bytes as u64))
            .end();
    }

    fn range(&mut self, range: &NamedRange) {
        let NamedRange { name, site, thread, started_ns, ended_ns } = range;
        self.complete(name.as_str(), RANGES.0, *thread, (*started_ns, *ended_ns), |args| line(args, Some(*site)));
    }

    fn span(&mut self, span: &Span) {
        let (name, (process, _)) = match &span.activity {
            Activity::Trace(name) => (format!("trace {name}"), CALLS),
            Activity::Evaluation(why) => (format!("evaluate, since {why}"), CALLS),
            Activity::Replay(name, _) => (format!("replay {name}"), CALLS),
            Activity::Recording(recorded) => (format!("record {}", recorded.function), CALLS),
            Activity::Compile(compiled) if compiled.is_better => (format!("recompile {}", compiled.label), COMPILES),
            Activity::Compile(compiled) => (format!("compile {}", compiled.label), COMPILES),
            Activity::Wait => ("wait".to_owned(), WAITS),
            Activity::Help => ("tiles of a replay".to_owned(), KERNELS),
        };
        self.complete(&name, process, span.thread, (span.started_ns, span.ended_ns), |args| {
            let args = line(args, span.site);
            match &span.activity {
                Activity::Compile(compiled) => {
                    args.number("ops", compiled.ops as u64).text("hash", &format!("{:016x}", compiled.hash))
                }
                Activity::Recording(recorded) => match &recorded.cause {
                    Some(cause) => args.text("cause", cause),
                    None => args,
                },
                _ => args,
            }
        });
    }
}

fn line<'a>(args: Object<'a>, site: Option<Site>) -> Object<'a> {
    match site {
        Some(site) => args.text("line", &format!("{}:{}", site.file(), site.line())),
        None => args,
    }
}
