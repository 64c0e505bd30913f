//! A stream of a GPU: launches are queued on it, in flight, and done in the same order.
//!
//! A launch registers at its buffers and is queued under one lock of its stream, behind events of the launches on other
//! streams that it comes after. So the order on the device is that of the data. A thread of each stream waits for the
//! oldest launch, and so does whoever waits for a later one.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cudarc::driver::sys;
use smallvec::SmallVec;

use super::event::{Event, new_stream};
use super::flight::{Events, Flight, Wanted};
use crate::backend::cuda::driver::{Failed, Gpu};
use crate::memory::order::Pending;
use crate::sync::{Condvar, Mutex};
use crate::{Error, ErrorKind};

/// A thread that has queued so many waits for the oldest one.
const MOST_IN_FLIGHT: usize = 1024;

/// Launches that are queued together.
type Flights = SmallVec<[Arc<Flight>; 1]>;

/// A stream of one GPU.
pub(super) struct Stream {
    gpu: &'static Gpu,
    raw: sys::CUstream,
    /// Held from the registration of a launch to its place in the queue: the number of the next one.
    order: Mutex<u64>,
    /// Queued, the oldest first.
    flights: Mutex<VecDeque<Arc<Flight>>>,
    /// Something was queued.
    arrived: Condvar,
    /// Held while the oldest launch is waited for, and nothing of other streams.
    retiring: Mutex<()>,
    /// When the last launch was done.
    last_end_ns: AtomicU64,
}

// SAFETY: the driver's functions may be called from all threads.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

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

    pub(super) fn gpu(&self) -> &'static Gpu {
        self.gpu
    }

    /// Whether all that was queued is done.
    pub(super) fn is_idle(&self) -> bool {
        self.flights.lock().is_empty()
    }

    /// Notes when a launch was done. Returns when the one before was.
    pub(super) fn last_end_ns(&self, ended_ns: u64) -> u64 {
        self.last_end_ns.swap(ended_ns, Ordering::Relaxed)
    }

    /// Queues a launch after those that were queued before, and those at its buffers: the function calls the driver for
    /// it. If that fails, so has the launch.
    pub(super) fn submit(
        self: &Arc<Self>,
        wanted: Wanted,
        queue: impl FnOnce(sys::CUstream) -> Result<(), Error>,
    ) -> Arc<Flight> {
        let flights = self.submit_all([wanted], queue);
        Arc::clone(&flights[0])
    }

    /// As [`Stream::submit`], for several launches that are queued together, in their order.
    pub(super) fn submit_all(
        self: &Arc<Self>,
        wanted: impl IntoIterator<Item = Wanted>,
        queue: impl FnOnce(sys::CUstream) -> Result<(), Error>,
    ) -> Flights {
        while self.flights.lock().len() >= MOST_IN_FLIGHT && self.retire_oldest() {}
        let mut order = self.order.lock();
        let number = |wanted: Wanted| {
            *order += 1;
            wanted.on(self, *order)
        };
        let flights: Flights = wanted.into_iter().map(number).collect();
        Flight::register(&flights);
        let (outcome, events) = self.queue(&flights, queue);
        let events = events.map(Arc::new);
        for flight in &flights {
            outcome.as_ref().err().into_iter().for_each(|error| flight.fail(error.clone()));
            flight.set_queued(events.clone());
        }
        self.flights.lock().extend(flights.iter().cloned());
        drop(order);
        self.arrived.notify_one();
        flights
    }

    /// Queues the work between events. A part of it may have been queued even if it fails.
    fn queue(
        &self,
        flights: &[Arc<Flight>],
        queue: impl FnOnce(sys::CUstream) -> Result<(), Error>,
    ) -> (Result<(), Error>, Option<Events>) {
        let refused = |failed: Failed| self.gpu.error("queueing a launch", failed);
        let _context = match self.gpu.enter() {
            Ok(context) => context,
            Err(failed) => return (Err(refused(failed)), None),
        };
        flights.iter().for_each(|flight| flight.wait_on_stream(self.raw));
        let is_timed = flights.iter().any(|flight| flight.is_timed());
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
    pub(super) fn retire_oldest(&self) -> bool {
        let Some(oldest) = self.oldest() else { return false };
        oldest.wait_for_those_before();
        let _retiring = self.retiring.lock();
        // Another thread may have been faster.
        if self.oldest().is_some_and(|now| Arc::ptr_eq(&now, &oldest)) {
            oldest.retire();
            self.flights.lock().pop_front();
        }
        true
    }

    fn oldest(&self) -> Option<Arc<Flight>> {
        self.flights.lock().front().cloned()
    }

    /// Returns when all launches that were queued before are done.
    pub(super) fn wait_for_all(&self) {
        let last = self.flights.lock().back().cloned();
        last.into_iter().for_each(Pending::wait);
    }
}
