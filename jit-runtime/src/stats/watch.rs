//! Launches that a profile watches: which threads worked on them, and when.

use std::sync::Arc;

use super::events::{self, Event, Launched, Part, Traffic};
use super::{Facts, Record, now_ns};
use crate::config::Device;
use crate::memory;
use crate::sync::Mutex;
use crate::{Label, Site};

/// Times of one thread that are closer together than this are one part.
const GAP_NS: u64 = 2_000;

/// The bytes in live buffers where a device has its memory, and whose they are if it is not the host's.
fn live_bytes_on(device: Device) -> (usize, Option<Device>) {
    match memory::devices::live_bytes(device) {
        Some(bytes) => (bytes, Some(device)),
        None => (memory::live_bytes(), None),
    }
}

/// A launch that has not ended.
pub(crate) struct Watched(Mutex<Launched>);

impl Watched {
    #[cold]
    pub(super) fn new(record: &Record, traffic: Traffic) -> Box<Watched> {
        let now = now_ns();
        Box::new(Watched(Mutex::new(Launched {
            facts: Arc::clone(&record.facts),
            label: record.label,
            site: record.site.or(record.facts.site),
            width: record.width,
            traffic,
            thread: events::this_thread(),
            queued_ns: now,
            started_ns: now,
            ended_ns: now,
            parts: Vec::new(),
            is_tiled: false,
            live_bytes: live_bytes_on(record.facts.device),
        })))
    }

    /// The calling thread worked on the launch.
    #[cold]
    pub(crate) fn worked(&self, started_ns: u64, ended_ns: u64) {
        let thread = events::this_thread();
        let parts = &mut self.0.lock().parts;
        match parts.iter_mut().rev().find(|part| part.thread == thread) {
            Some(last) if started_ns.saturating_sub(last.ended_ns) < GAP_NS => last.ended_ns = ended_ns,
            _ => parts.push(Part { thread, started_ns, ended_ns }),
        }
    }

    /// The launch has ended.
    #[cold]
    pub(crate) fn finish(&self, started_ns: u64, ended_ns: u64) {
        let mut launched = self.0.lock();
        let done = Launched {
            facts: Arc::clone(&launched.facts),
            parts: std::mem::take(&mut launched.parts),
            started_ns: started_ns.min(ended_ns),
            ended_ns,
            ..*launched
        };
        drop(launched);
        events::push(Event::Launch(Arc::new(done)));
    }

    /// A launch has run on the calling thread, and has just ended.
    #[cold]
    #[inline(never)]
    pub(super) fn ran_here(record: &Record, traffic: impl FnOnce() -> Traffic, elapsed_ns: u64) {
        let ended_ns = now_ns();
        let started_ns = ended_ns.saturating_sub(elapsed_ns);
        let watched = Watched::new(record, traffic());
        watched.0.lock().queued_ns = started_ns;
        watched.worked(started_ns, ended_ns);
        watched.finish(started_ns, ended_ns);
    }
}

/// The launches of a replay that one thread runs one after another.
pub(crate) struct WatchedBatch {
    thread: u32,
    live_bytes: (usize, Option<Device>),
    last_ns: u64,
}

/// One launch of a [`WatchedBatch`].
pub(crate) struct Member<'a> {
    pub(crate) facts: &'a Arc<Facts>,
    pub(crate) label: Label,
    pub(crate) site: Option<Site>,
    pub(crate) width: usize,
    pub(crate) traffic: Traffic,
    /// Its share of the time of its stretch.
    pub(crate) share: f64,
}

impl WatchedBatch {
    #[cold]
    pub(crate) fn new() -> WatchedBatch {
        let (thread, live_bytes) = (events::this_thread(), (memory::live_bytes(), None));
        WatchedBatch { thread, live_bytes, last_ns: now_ns() }
    }

    /// Some launches have just ended, which began when the ones before them ended. If there are several, each has a
    /// share of the time.
    #[cold]
    pub(crate) fn ran<'a>(&mut self, members: impl Iterator<Item = Member<'a>>, is_tiled: bool) {
        let ended_ns = now_ns();
        let (mut begin, all) = (self.last_ns, ended_ns.saturating_sub(self.last_ns) as f64);
        for Member { facts, label, site, width, traffic, share } in members {
            let end = ended_ns.min(begin + (all * share) as u64);
            let parts = vec![Part { thread: self.thread, started_ns: begin, ended_ns: end }];
            events::push(Event::Launch(Arc::new(Launched {
                facts: Arc::clone(facts),
                label,
                site: site.or(facts.site),
                width,
                traffic,
                thread: self.thread,
                queued_ns: begin,
                started_ns: begin,
                ended_ns: end,
                parts,
                is_tiled,
                live_bytes: self.live_bytes,
            })));
            begin = end;
        }
        self.last_ns = now_ns();
    }
}
