//! Events of running profiles: launches, and what threads did besides them.
//!
//! While no profile runs, nothing is noted: a launch tests a flag that it reads for the history anyway. While one runs,
//! events are collected in one list, whichever thread they come from, and each profile takes those since its start. So
//! profiles may nest and overlap. An event refers to texts and facts that exist already, so noting one costs little.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Facts, OBSERVERS, PROFILE, now_ns};
use crate::config::Device;
use crate::fork::Held;
use crate::memory::devices::{self, Peaks};
use crate::memory::{self, DeviceMemory};
use crate::sync::{Mutex, persist};
use crate::{Label, Site};

/// Something that happened while a profile ran.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Launch(Arc<Launched>),
    Span(Arc<Span>),
    Range(Arc<NamedRange>),
    Read(Read),
    Remark(Remark),
}

/// A launch that is done.
#[derive(Debug)]
pub(crate) struct Launched {
    pub(crate) facts: Arc<Facts>,
    pub(crate) label: Label,
    pub(crate) site: Option<Site>,
    pub(crate) width: usize,
    pub(crate) traffic: Traffic,
    /// The thread that launched it.
    pub(crate) thread: u32,
    pub(crate) queued_ns: u64,
    pub(crate) started_ns: u64,
    pub(crate) ended_ns: u64,
    /// The times in which threads worked on it, and which thread each time.
    pub(crate) parts: Vec<Part>,
    /// Whether it ran in tiles together with others: each has a share of their time.
    pub(crate) is_tiled: bool,
    /// Bytes in live buffers when it was launched, and the device whose they are if it is not the host.
    pub(crate) live_bytes: (usize, Option<Device>),
}

/// A time in which a thread worked on a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) thread: u32,
    pub(crate) started_ns: u64,
    pub(crate) ended_ns: u64,
}

/// Bytes of the arrays that a launch accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) read: usize,
    pub(crate) written: usize,
}

/// A time in which a thread did one thing; spans of a thread nest.
#[derive(Debug)]
pub(crate) struct Span {
    pub(crate) activity: Activity,
    pub(crate) site: Option<Site>,
    pub(crate) thread: u32,
    pub(crate) started_ns: u64,
    pub(crate) ended_ns: u64,
}

/// A time in which a thread ran a part of the program that has a name.
#[derive(Debug)]
pub(crate) struct NamedRange {
    pub(crate) name: Label,
    pub(crate) site: Site,
    pub(crate) thread: u32,
    pub(crate) started_ns: u64,
    pub(crate) ended_ns: u64,
}

/// What a thread did in a span of time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Activity {
    /// It traced a function with this name.
    Trace(Label),
    /// It scheduled and launched the kernels of an evaluation, for this reason.
    Evaluation(&'static str),
    /// It replayed a frozen function, which is defined at this place.
    Replay(Label, Site),
    /// It recorded a frozen function.
    Recording(Recorded),
    /// It compiled a kernel.
    Compile(Compiled),
    /// It waited for launches, and took part in them.
    Wait,
    /// It took part in the work of a replay on another thread.
    Help,
}

/// A recording of a frozen function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recorded {
    /// The function.
    pub function: Label,
    /// Where it is defined.
    pub place: Site,
    /// The difference from the recording before; none for the first one.
    pub cause: Option<String>,
    /// A remedy, if there is one.
    pub hint: Option<&'static str>,
}

/// A compilation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compiled {
    /// The kernel.
    pub label: Label,
    /// Its hash.
    pub hash: u64,
    /// The number of operations in it.
    pub ops: usize,
    /// Whether it had code already, and this is better code.
    pub is_better: bool,
}

/// The host read elements of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub(crate) site: Site,
    pub(crate) thread: u32,
    pub(crate) at_ns: u64,
}

/// What the scheduler found out about a kernel that makes it slower than necessary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remark {
    /// What it is.
    pub fault: Fault,
    /// The line of the user's program that it is about.
    pub site: Site,
    /// The kernel.
    pub kernel: KernelId,
    /// The part of the kernel's work that is unnecessary, in thousandths.
    pub permille: u32,
    /// Whether the kernel is a step of a recording: replays can do without a copy.
    pub is_recorded: bool,
}

/// Properties by which launches of a scheduled kernel are recognised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelId {
    /// Its name.
    pub label: Label,
    /// The line that caused the launch.
    pub site: Site,
    /// The number of lanes.
    pub width: usize,
    /// The number of operations.
    pub ops: usize,
}

/// Why a kernel is slower than necessary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// It computes a value that another kernel computes, too.
    Recomputed,
    /// It computes a value that an earlier evaluation computed, and did not store.
    Repeated,
    /// It computes a value at several indices, because it gathers from an expression.
    Gathered,
    /// It copies an array that is scattered to, because it is still referenced elsewhere.
    Copied,
    /// It moves the elements of an operand of a product of matrices.
    Moved,
}

/// What is noted while profiles run.
struct Noted {
    events: Vec<Event>,
    /// The profiles that run.
    sessions: Vec<Session>,
    next: u64,
    /// The peak of live bytes before these profiles.
    peak_bytes: usize,
    /// The names of threads, by number.
    threads: Vec<String>,
    /// The gathers from expressions so far, one for each line.
    gathered: Vec<Gathered>,
}

/// A gather that recorded the expression of its source again, at its index.
#[derive(Clone, Copy, Debug)]
pub struct Gathered {
    /// The line of the gather.
    pub site: Site,
    /// The line of the source.
    pub source: Site,
    /// The work of the expression.
    pub weight: u32,
}

struct Session {
    number: u64,
    /// Its first event.
    first: usize,
    started_ns: u64,
    peak_bytes: usize,
    /// The peaks of devices that have memory of their own.
    device_peaks: Peaks,
}

/// What was noted between the begin and the end of a profile.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) events: Vec<Event>,
    /// The names of threads, by number.
    pub(crate) threads: Vec<String>,
    pub(crate) started_ns: u64,
    pub(crate) ended_ns: u64,
    /// The thread that ended it.
    pub(crate) thread: u32,
    pub(crate) peak_bytes: usize,
    /// The memory of devices in use, with their peaks between the begin and the end.
    pub(crate) devices: Vec<DeviceMemory>,
}

static NOTED: Mutex<Noted> = Mutex::new(Noted {
    events: Vec::new(),
    sessions: Vec::new(),
    next: 0,
    peak_bytes: 0,
    threads: Vec::new(),
    gathered: Vec::new(),
});

thread_local! {
    /// The number of the thread in events, plus one; 0 before it has one.
    static THREAD: Cell<u32> = const { Cell::new(0) };
}

/// Takes the lock, for a fork.
pub(super) fn hold(held: &mut Vec<Held>) {
    held.extend(persist(|| NOTED.try_lock()).map(|guard| Box::new(guard) as Held));
}

/// Begins to collect events. Returns the number of the session.
pub(crate) fn begin_session() -> u64 {
    let mut noted = NOTED.lock();
    noted.separate_peaks();
    let (number, first) = (noted.next, noted.events.len());
    noted.next += 1;
    noted.sessions.push(Session { number, first, started_ns: now_ns(), peak_bytes: 0, device_peaks: Peaks::new() });
    OBSERVERS.fetch_or(PROFILE, Ordering::Relaxed);
    number
}

/// Ends a session; returns its events. None if it has ended already.
pub(crate) fn end_session(number: u64) -> Option<Collected> {
    let (thread, ended_ns) = (this_thread(), now_ns());
    let mut noted = NOTED.lock();
    let position = noted.sessions.iter().position(|session| session.number == number)?;
    noted.separate_peaks();
    let Session { first, started_ns, peak_bytes, device_peaks, .. } = noted.sessions.remove(position);
    let events = if noted.sessions.is_empty() {
        OBSERVERS.fetch_and(!PROFILE, Ordering::Relaxed);
        memory::raise_peak(noted.peak_bytes);
        noted.gathered.clear();
        std::mem::take(&mut noted.events).split_off(first)
    } else {
        noted.events[first..].to_vec()
    };
    let threads = noted.threads.clone();
    drop(noted);
    let devices = with_peaks(devices::report(), &device_peaks);
    Some(Collected { events, threads, started_ns, ended_ns, thread, peak_bytes, devices })
}

/// The memory of devices, with these peaks.
fn with_peaks(mut devices: Vec<DeviceMemory>, peaks: &[(Device, usize)]) -> Vec<DeviceMemory> {
    for memory in &mut devices {
        let known = peaks.iter().find(|(device, _)| *device == memory.device);
        memory.peak_bytes = known.map_or(memory.live_bytes, |(_, peak)| *peak);
    }
    devices
}

impl Noted {
    /// Assigns the peak of live bytes so far to the sessions that it belongs to, and begins another one.
    fn separate_peaks(&mut self) {
        let (peak_bytes, device_peaks) = (memory::peak_bytes(), devices::take_peaks());
        if self.sessions.is_empty() {
            self.peak_bytes = 0;
        }
        self.peak_bytes = self.peak_bytes.max(peak_bytes);
        for session in &mut self.sessions {
            session.peak_bytes = session.peak_bytes.max(peak_bytes);
            devices::raise(&mut session.device_peaks, &device_peaks);
        }
        memory::reset_peak();
    }
}

/// Whether a profile runs.
#[inline]
#[must_use]
pub fn is_profiled() -> bool {
    OBSERVERS.load(Ordering::Relaxed) & PROFILE != 0
}

#[cold]
pub(crate) fn push(event: Event) {
    let mut noted = NOTED.lock();
    // A launch may end after the profile that it began in.
    if !noted.sessions.is_empty() {
        noted.events.push(event);
    }
}

/// The number of the calling thread in events.
pub(crate) fn this_thread() -> u32 {
    // While a thread ends, it may have lost its number.
    let known = THREAD.try_with(Cell::get).unwrap_or_default();
    if known > 0 {
        return known - 1;
    }
    let mut noted = NOTED.lock();
    let number = noted.threads.len() as u32;
    let name = std::thread::current().name().map_or_else(|| format!("thread {number}"), str::to_owned);
    noted.threads.push(name);
    let _ = THREAD.try_with(|thread| thread.set(number + 1));
    number
}

/// The begin of a span, if a profile runs.
#[derive(Clone, Copy, Debug)]
#[must_use = "the span is noted when it ends"]
pub struct Started(Option<u64>);

/// Begins a span of the calling thread, if a profile runs.
#[inline]
pub fn begin() -> Started {
    Started(if is_profiled() { Some(now_ns()) } else { None })
}

impl Started {
    /// Ends the span.
    #[inline]
    pub fn end(self, site: Option<Site>, activity: impl FnOnce() -> Activity) {
        if let Some(started_ns) = self.0 {
            note_span(started_ns, site, activity());
        }
    }

    /// Ends a part of the program that has a name.
    #[inline]
    pub fn end_range(self, name: &str, site: Site) {
        if let Some(started_ns) = self.0 {
            note_range(started_ns, name, site);
        }
    }
}

#[cold]
fn note_span(started_ns: u64, site: Option<Site>, activity: Activity) {
    let span = Span { activity, site, thread: this_thread(), started_ns, ended_ns: now_ns().max(started_ns) };
    push(Event::Span(Arc::new(span)));
}

#[cold]
fn note_range(started_ns: u64, name: &str, site: Site) {
    let (name, thread, ended_ns) = (Label::new(name), this_thread(), now_ns().max(started_ns));
    push(Event::Range(Arc::new(NamedRange { name, site, thread, started_ns, ended_ns })));
}

/// Notes that the host reads elements of an array.
#[inline]
pub fn note_read(site: Site) {
    if is_profiled() {
        push(Event::Read(Read { site, thread: this_thread(), at_ns: now_ns() }));
    }
}

/// Notes a remark of the scheduler.
pub fn note_remark(remark: Remark) {
    if is_profiled() {
        push(Event::Remark(remark));
    }
}

/// Notes a gather from an expression.
#[cold]
pub fn note_gathered(gathered: Gathered) {
    let mut noted = NOTED.lock();
    let noted = &mut *noted;
    let known = noted.gathered.iter_mut().find(|known| known.site == gathered.site && known.source == gathered.source);
    match known {
        Some(known) => known.weight = known.weight.max(gathered.weight),
        None if !noted.sessions.is_empty() => noted.gathered.push(gathered),
        None => {}
    }
}

/// The gathers from expressions that were noted, for the scheduler's remarks.
#[must_use]
pub fn gathered() -> Vec<Gathered> {
    NOTED.lock().gathered.clone()
}
