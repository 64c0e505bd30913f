//! A launch from its registration until it is done, and those on other streams that it comes after.
//!
//! What a launch leaves behind is known in order: it ends after those that it came after, so a launch whose input
//! failed has failed, although the device has run it.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use cudarc::driver::sys;
use smallvec::SmallVec;

use super::event::Event;
use super::stream::Stream;
use crate::backend::cuda::driver::{Failed, Gpu};
use crate::memory::failure::Failure;
use crate::memory::order::{self, Pending, Registration};
use crate::stats::now_ns;
use crate::sync::{Condvar, Mutex};
use crate::{Error, ErrorKind, Label, Site, fork};

use super::super::work::{Accessed, Observed, end, measure};

/// What remains to be done on the host when a launch is done: it may find that the launch failed.
pub(super) type Afterwards = Box<dyn FnOnce() -> Result<(), Error> + Send>;

/// A launch.
pub(super) struct Flight {
    stream: Arc<Stream>,
    /// Its place among those of its stream.
    number: u64,
    /// Keeps the buffers alive until the launch is done.
    accessed: Mutex<Vec<Accessed>>,
    /// The launches on other streams that it comes after; of each stream the last one.
    before: Mutex<Before>,
    afterwards: Mutex<Option<Afterwards>>,
    label: Label,
    site: Option<Site>,
    observed: Observed,
    queued_ns: u64,
    ended_ns: AtomicU64,
    /// The process that queued it, as [`fork::generation`].
    generation: u32,
    failure: OnceLock<Arc<Failure>>,
    /// Once it is queued: the event behind it, and one before it if its time is wanted. If none could be recorded, it
    /// is done, or the device is lost.
    events: OnceLock<Option<Arc<Events>>>,
    state: Mutex<State>,
    changed: Condvar,
}

/// Launches on other streams.
pub(super) type Before = SmallVec<[Arc<Flight>; 2]>;

/// How far a launch is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is registered, and about to be queued.
    Registered,
    Queued,
    Done,
}

/// Points before and behind a launch, or several that are queued together.
pub(super) struct Events {
    pub(super) start: Option<Event>,
    pub(super) end: Event,
}

/// A launch that is wanted.
pub(super) struct Wanted {
    pub(super) accessed: Vec<Accessed>,
    pub(super) label: Label,
    pub(super) site: Option<Site>,
    pub(super) observed: Observed,
    pub(super) afterwards: Afterwards,
}

impl Wanted {
    /// The launch, which is not registered yet.
    pub(super) fn on(self, stream: &Arc<Stream>, number: u64) -> Arc<Flight> {
        let Wanted { accessed, label, site, observed, afterwards } = self;
        Arc::new(Flight {
            stream: Arc::clone(stream),
            number,
            accessed: Mutex::new(accessed),
            before: Mutex::default(),
            afterwards: Mutex::new(Some(afterwards)),
            label,
            site,
            observed,
            queued_ns: now_ns(),
            ended_ns: AtomicU64::new(0),
            generation: fork::generation(),
            failure: OnceLock::new(),
            events: OnceLock::new(),
            state: Mutex::new(State::Registered),
            changed: Condvar::new(),
        })
    }
}

impl Flight {
    /// Registers launches of one stream at their buffers, at once: no launch of another stream is between them.
    pub(super) fn register(flights: &[Arc<Self>]) {
        let registration = order::begin_registration();
        flights.iter().for_each(|flight| flight.register_with(&registration));
    }

    /// Registers at the buffers. Launches of its own stream are in order anyway.
    fn register_with(self: &Arc<Self>, registration: &Registration) {
        let pending: Arc<dyn Pending> = Arc::<Flight>::clone(self);
        let mut before = self.before.lock();
        for Accessed { buffer, writes, .. } in &*self.accessed.lock() {
            if *writes {
                let others = buffer.accesses().register_write(registration, &pending);
                others.into_iter().for_each(|other| self.come_after(&mut before, other));
            } else {
                let writer = buffer.accesses().register_read(registration, &pending);
                writer.into_iter().for_each(|writer| self.come_after(&mut before, writer));
            }
        }
    }

    fn come_after(&self, before: &mut Before, other: Arc<dyn Pending>) {
        let other: Arc<dyn Any + Send + Sync> = other;
        let Ok(other) = other.downcast::<Flight>() else { unreachable!("buffers are accessed by their own machine") };
        if Arc::ptr_eq(&other.stream, &self.stream) {
            return;
        }
        match before.iter_mut().find(|known| Arc::ptr_eq(&known.stream, &other.stream)) {
            Some(known) if known.number >= other.number => {}
            Some(known) => *known = other,
            None => before.push(other),
        }
    }

    /// Lets a stream wait for the launches on other streams that this one comes after. The context is current.
    pub(super) fn wait_on_stream(&self, raw: sys::CUstream) {
        for other in self.before() {
            if other.let_wait(raw).is_err() {
                // Later launches may wait for this one only, so it must not be done before.
                other.wait();
            }
        }
    }

    /// Lets a stream wait for this launch.
    fn let_wait(&self, raw: sys::CUstream) -> Result<(), Failed> {
        self.wait_until_queued();
        self.events.get().and_then(Option::as_ref).map_or(Ok(()), |events| events.end.let_wait(raw))
    }

    /// Another thread is about to queue it, or has done so.
    fn wait_until_queued(&self) {
        let mut state = self.state.lock();
        while *state == State::Registered {
            state = self.changed.wait(state);
        }
    }

    fn before(&self) -> Before {
        self.before.lock().clone()
    }

    /// Waits on the host for the launches on other streams that this one comes after. No lock of a stream may be held.
    pub(super) fn wait_for_those_before(&self) {
        self.before().into_iter().for_each(Pending::wait);
    }

    pub(super) fn is_timed(&self) -> bool {
        self.observed.1.is_some()
    }

    /// It was not queued, or not all of it.
    pub(super) fn fail(&self, error: Error) {
        let failed = Failure::of(Ok(Err(error)), self.label, self.site);
        failed.into_iter().for_each(|failure| _ = self.failure.set(failure));
    }

    /// Why it has failed, if it has; it is done.
    pub(super) fn failure(&self) -> Option<&Arc<Failure>> {
        self.failure.get()
    }

    /// It is queued.
    pub(super) fn set_queued(&self, events: Option<Arc<Events>>) {
        let _ = self.events.set(events);
        *self.state.lock() = State::Queued;
        self.changed.notify_all();
    }

    /// Waits for the launch, and ends it. It is the oldest one of its stream, and those before are done.
    pub(super) fn retire(self: &Arc<Self>) {
        let gpu = self.stream.gpu();
        let elapsed = self.events.get().and_then(Option::as_ref).map(|events| {
            let _context = gpu.enter()?;
            events.end.wait()?;
            events.start.as_ref().map(|start| events.end.since_ns(start)).transpose()
        });
        let (elapsed_ns, outcome) = match elapsed.transpose() {
            Ok(elapsed) => (elapsed.flatten(), Ok(())),
            Err(failed) => (None, Err(lost(gpu, failed))),
        };
        let read = |access: &&Accessed| access.reads;
        let inherited = self.accessed.lock().iter().filter(read).find_map(|access| access.buffer.accesses().failure());
        let afterwards = self.afterwards.lock().take();
        let outcome = outcome.and_then(|()| afterwards.map_or(Ok(()), |afterwards| afterwards()));
        let own = || Failure::of(Ok(outcome), self.label, self.site);
        // A launch that was not queued has its failure already.
        inherited.or_else(own).into_iter().for_each(|failure| _ = self.failure.set(failure));
        self.measure(elapsed_ns);
        self.end();
    }

    fn measure(&self, elapsed_ns: Option<u64>) {
        let ended_ns = now_ns();
        self.ended_ns.store(ended_ns, Ordering::Relaxed);
        let others = self.before().iter().map(|other| other.ended_ns.load(Ordering::Relaxed)).max();
        let before_ns = self.stream.last_end_ns(ended_ns).max(others.unwrap_or_default());
        // Without events that have times: since it was queued, or since the launches before were done.
        let elapsed_ns = elapsed_ns.unwrap_or_else(|| ended_ns.saturating_sub(self.queued_ns.max(before_ns)));
        let started_ns = ended_ns.saturating_sub(elapsed_ns);
        measure(&self.observed, started_ns, ended_ns);
    }

    /// Releases the buffers, with the failure, and wakes those who wait.
    fn end(self: &Arc<Self>) {
        let pending: Arc<dyn Pending> = Arc::<Flight>::clone(self);
        end(&self.accessed, &pending, self.failure.get());
        self.before.lock().clear();
        *self.state.lock() = State::Done;
        self.changed.notify_all();
    }

    fn is_done(&self) -> bool {
        *self.state.lock() == State::Done
    }
}

/// The error of a launch after which a device is lost, or for which it cannot be asked.
fn lost(gpu: &Gpu, failed: Failed) -> Error {
    gpu.note(failed);
    let error = Error::new(ErrorKind::Launch, failed.to_string());
    let device = gpu.device;
    match failed.is_final() {
        true => {
            error.with_hint(format!("the device `{device}` is lost for this process, with all that is in its memory"))
        }
        false => error,
    }
}

impl Pending for Flight {
    fn wait(self: Arc<Self>) {
        if self.generation != fork::generation() {
            // Contexts of GPUs exist in the other process only.
            let _ = self.failure.set(Failure::of_fork(Some(self.label), self.site));
            return self.end();
        }
        while !self.is_done() {
            if !self.stream.retire_oldest() {
                self.wait_until_queued();
            }
        }
    }
}
