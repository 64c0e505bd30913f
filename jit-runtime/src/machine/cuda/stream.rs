//! The launches of a GPU: queued on one stream, in flight, and done in the same order.
//!
//! A launch registers at its buffers and is queued under one lock, so the order of the stream is that of the data. A
//! thread of each device waits for the oldest launch, and so does whoever waits for a later one. What a launch leaves
//! behind is therefore known in order: a launch whose input failed has failed, although the device has run it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use cudarc::driver::sys;

use super::event::{Event, new_stream};
use crate::backend::cuda::driver::{Failed, Gpu};
use crate::memory::failure::Failure;
use crate::memory::order::{self, Pending};
use crate::stats::now_ns;
use crate::sync::{Condvar, Mutex};
use crate::{Error, ErrorKind, Label, Site, fork};

use super::super::work::{Accessed, Observed, end, measure};

/// A thread that has queued so many waits for the oldest one.
const MOST_IN_FLIGHT: usize = 1024;

/// What remains to be done on the host when a launch is done: it may find that the launch failed.
pub(super) type Afterwards = Box<dyn FnOnce() -> Result<(), Error> + Send>;

/// The stream of one GPU.
pub(super) struct Stream {
    gpu: &'static Gpu,
    raw: sys::CUstream,
    /// Held from the registration of a launch to its place in the queue.
    order: Mutex<()>,
    /// Queued, the oldest first.
    flights: Mutex<VecDeque<Arc<Flight>>>,
    /// Something was queued.
    arrived: Condvar,
    /// Held while the oldest launch is waited for.
    retiring: Mutex<()>,
    /// When the last launch was done.
    last_end_ns: AtomicU64,
}

// SAFETY: the driver's functions may be called from all threads.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

/// A launch from its registration until it is done.
pub(super) struct Flight {
    stream: Arc<Stream>,
    /// Keeps the buffers alive until the launch is done.
    accessed: Mutex<Vec<Accessed>>,
    afterwards: Mutex<Option<Afterwards>>,
    label: Label,
    site: Option<Site>,
    observed: Observed,
    queued_ns: u64,
    /// The process that queued it, as [`fork::generation`].
    generation: u32,
    failure: OnceLock<Arc<Failure>>,
    state: Mutex<State>,
    changed: Condvar,
}

/// How far a launch is.
enum State {
    /// It is registered, and about to be queued.
    Registered,
    /// The event behind it, and one before it if its time is wanted. If none could be recorded, it is done, or the
    /// device is lost.
    Queued(Option<Events>),
    Done,
}

struct Events {
    start: Option<Event>,
    end: Event,
}

impl Stream {
    /// Makes the stream, and starts the thread that waits for its launches.
    pub(super) fn start(gpu: &'static Gpu) -> Result<Arc<Stream>, Error> {
        let open = || {
            let _context = gpu.enter()?;
            new_stream()
        };
        let raw = open().map_err(|failed| gpu.error("making a stream", failed))?;
        let stream = Arc::new(Stream {
            gpu,
            raw,
            order: Mutex::default(),
            flights: Mutex::default(),
            arrived: Condvar::new(),
            retiring: Mutex::default(),
            last_end_ns: AtomicU64::new(0),
        });
        let own = Arc::clone(&stream);
        let started = std::thread::Builder::new().name(format!("jit-{}", gpu.device)).spawn(move || own.work());
        started.map_err(|error| {
            let message = format!("the device `{}` cannot be used: its thread cannot be started", gpu.device);
            Error::new(ErrorKind::NoDevice, message).caused_by(error)
        })?;
        Ok(stream)
    }

    /// A launch of this stream that is not queued yet.
    pub(super) fn flight(
        self: &Arc<Self>,
        accessed: Vec<Accessed>,
        (label, site): (Label, Option<Site>),
        observed: Observed,
        afterwards: Afterwards,
    ) -> Flight {
        Flight {
            stream: Arc::clone(self),
            accessed: Mutex::new(accessed),
            afterwards: Mutex::new(Some(afterwards)),
            label,
            site,
            observed,
            queued_ns: now_ns(),
            generation: fork::generation(),
            failure: OnceLock::new(),
            state: Mutex::new(State::Registered),
            changed: Condvar::new(),
        }
    }

    /// Queues a launch after those that were queued before: the function calls the driver for it. If that fails, so has
    /// the launch.
    pub(super) fn submit(&self, flight: Flight, queue: impl FnOnce(sys::CUstream) -> Result<(), Error>) {
        while self.flights.lock().len() >= MOST_IN_FLIGHT && self.retire_oldest() {}
        let flight = Arc::new(flight);
        let order = self.order.lock();
        flight.register();
        let (outcome, events) = self.queue(&flight, queue);
        if let Err(error) = outcome {
            let failed = Failure::of(Ok(Err(error)), flight.label, flight.site);
            failed.into_iter().for_each(|failure| _ = flight.failure.set(failure));
        }
        *flight.state.lock() = State::Queued(events);
        flight.changed.notify_all();
        self.flights.lock().push_back(flight);
        drop(order);
        self.arrived.notify_one();
    }

    /// Queues the work between events. A part of it may have been queued even if it fails.
    fn queue(
        &self,
        flight: &Flight,
        queue: impl FnOnce(sys::CUstream) -> Result<(), Error>,
    ) -> (Result<(), Error>, Option<Events>) {
        let is_timed = flight.observed.1.is_some();
        let refused = |failed: Failed| self.gpu.error("queueing a launch", failed);
        let _context = match self.gpu.enter() {
            Ok(context) => context,
            Err(failed) => return (Err(refused(failed)), None),
        };
        let mark = || {
            let event = Event::new(self.gpu, is_timed)?;
            event.record(self.raw)?;
            Ok(event)
        };
        let start = is_timed.then(mark).transpose();
        let outcome = queue(self.raw);
        let end = mark();
        match (start, end) {
            (Ok(start), Ok(end)) => (outcome, Some(Events { start, end })),
            (Err(failed), _) | (_, Err(failed)) => {
                // Without an event nobody would know when the memory is free.
                // SAFETY: the stream exists, and its context is current.
                unsafe { sys::cuStreamSynchronize(self.raw) };
                (outcome.and(Err(refused(failed))), None)
            }
        }
    }

    /// The main loop of the thread.
    fn work(&self) {
        loop {
            let mut flights = self.flights.lock();
            while flights.is_empty() {
                flights = self.arrived.wait(flights);
            }
            drop(flights);
            self.retire_oldest();
        }
    }

    /// Waits for the oldest launch, and ends it. Returns whether there was one.
    fn retire_oldest(&self) -> bool {
        let _retiring = self.retiring.lock();
        let Some(oldest) = self.flights.lock().front().cloned() else { return false };
        oldest.retire();
        self.flights.lock().pop_front();
        true
    }

    /// Returns when all launches that were queued before are done.
    pub(super) fn wait_for_all(&self) {
        while self.retire_oldest() {}
    }
}

impl Flight {
    /// Registers at the buffers. All launches at them are on the same stream, which orders them.
    fn register(self: &Arc<Self>) {
        let pending: Arc<dyn Pending> = Arc::<Flight>::clone(self);
        let registration = order::begin_registration();
        for Accessed { buffer, writes, .. } in &*self.accessed.lock() {
            if *writes {
                drop(buffer.accesses().register_write(&registration, &pending));
            } else {
                drop(buffer.accesses().register_read(&registration, &pending));
            }
        }
    }

    /// Waits for the launch, which is the oldest one, and ends it.
    fn retire(self: &Arc<Self>) {
        let state = std::mem::replace(&mut *self.state.lock(), State::Registered);
        let State::Queued(events) = state else { return };
        let gpu = self.stream.gpu;
        let elapsed = events.map(|events| {
            let _context = gpu.enter()?;
            events.end.wait()?;
            events.start.map(|start| events.end.since_ns(&start)).transpose()
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
        let before_ns = self.stream.last_end_ns.swap(ended_ns, Ordering::Relaxed);
        // Without events that have times: since it was queued, or since the launch before was done.
        let elapsed_ns = elapsed_ns.unwrap_or_else(|| ended_ns.saturating_sub(self.queued_ns.max(before_ns)));
        let started_ns = ended_ns.saturating_sub(elapsed_ns);
        measure(&self.observed, started_ns, ended_ns);
    }

    /// Releases the buffers, with the failure, and wakes those who wait.
    fn end(self: &Arc<Self>) {
        let pending: Arc<dyn Pending> = Arc::<Flight>::clone(self);
        end(&self.accessed, &pending, self.failure.get());
        *self.state.lock() = State::Done;
        self.changed.notify_all();
    }

    fn is_done(&self) -> bool {
        matches!(*self.state.lock(), State::Done)
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
                // Another thread is about to queue it, or has just ended it.
                let mut state = self.state.lock();
                while matches!(*state, State::Registered) {
                    state = self.changed.wait(state);
                }
            }
        }
    }
}
