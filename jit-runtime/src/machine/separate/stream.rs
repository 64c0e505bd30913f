//! The launches of the machine for tests, which one thread runs in the order in which they were queued.
//!
//! That order is also the order of the data: a launch registers at its buffers and enters the queue under one lock. So
//! launches need not know those that they come after, as on a stream of a GPU. The host waits for a launch only to read
//! or write a buffer.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use crate::cancel::Token;
use crate::config::Device;
use crate::memory::failure::Failure;
use crate::memory::order::{self, Pending};
use crate::stats::now_ns;
use crate::sync::{Condvar, Mutex};
use crate::{Error, Label, Site, fork};

use super::super::work::{Accessed, Observed, end, measure};

/// What a launch does.
type Work = Box<dyn FnOnce(&Token) -> Result<(), Error> + Send>;

/// The queue of one machine.
pub(super) struct Stream {
    state: Mutex<State>,
    /// There is work.
    work: Condvar,
    /// Nothing is queued or running.
    idle: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Arc<Job>>,
    is_running: bool,
}

/// A launch that is queued.
pub(super) struct Job {
    work: Mutex<Option<Work>>,
    /// Keeps the buffers alive until the launch is done.
    accessed: Mutex<Vec<Accessed>>,
    token: Token,
    label: Label,
    site: Option<Site>,
    observed: Observed,
    /// The process that queued it, as [`fork::generation`].
    generation: u32,
    failure: OnceLock<Arc<Failure>>,
    is_done: Mutex<bool>,
    done: Condvar,
}

impl Job {
    pub(super) fn new(
        work: Work,
        accessed: Vec<Accessed>,
        token: Token,
        (label, site): (Label, Option<Site>),
        observed: Observed,
    ) -> Job {
        Job {
            work: Mutex::new(Some(work)),
            accessed: Mutex::new(accessed),
            token,
            label,
            site,
            observed,
            generation: fork::generation(),
            failure: OnceLock::new(),
            is_done: Mutex::new(false),
            done: Condvar::new(),
        }
    }

    fn run(self: &Arc<Self>) {
        let read = |access: &&Accessed| access.reads;
        let inherited = self.accessed.lock().iter().filter(read).find_map(|access| access.buffer.accesses().failure());
        let work = self.work.lock().take();
        let started_ns = now_ns();
        let outcome = catch_unwind(AssertUnwindSafe(|| match (&inherited, work) {
            (None, Some(work)) => work(&self.token),
            _ => Ok(()),
        }));
        let failed = inherited.or_else(|| Failure::of(outcome, self.label, self.site));
        failed.into_iter().for_each(|failure| _ = self.failure.set(failure));
        measure(&self.observed, started_ns, now_ns());
        self.end();
    }

    /// Releases the buffers, with the failure, and wakes those who wait.
    fn end(self: &Arc<Self>) {
        let pending: Arc<dyn Pending> = Arc::<Job>::clone(self);
        end(&self.accessed, &pending, self.failure.get());
        *self.is_done.lock() = true;
        self.done.notify_all();
    }
}

impl Pending for Job {
    fn wait(self: Arc<Self>) {
        if self.generation != fork::generation() {
            // The thread that would run it exists in the other process only.
            let _ = self.failure.set(Failure::of_fork(Some(self.label), self.site));
            return self.end();
        }
        let mut is_done = self.is_done.lock();
        while !*is_done {
            is_done = self.done.wait(is_done);
        }
    }
}

impl Stream {
    /// Makes a queue, and starts its thread.
    pub(super) fn start(device: Device) -> std::io::Result<Arc<Stream>> {
        let stream = Arc::new(Stream { state: Mutex::default(), work: Condvar::new(), idle: Condvar::new() });
        let own = Arc::clone(&stream);
        std::thread::Builder::new().name(format!("jit-{device}")).spawn(move || own.work())?;
        Ok(stream)
    }

    /// Queues a launch after those that were queued before.
    pub(super) fn enqueue(&self, job: Job) {
        let job = Arc::new(job);
        let pending: Arc<dyn Pending> = Arc::<Job>::clone(&job);
        let registration = order::begin_registration();
        for Accessed { buffer, writes, .. } in &*job.accessed.lock() {
            let own = |before: Arc<dyn Pending>| {
                let before: Arc<dyn Any + Send + Sync> = before;
                assert!(before.is::<Job>(), "the launches at a buffer are those of its machine");
            };
            if *writes {
                buffer.accesses().register_write(&registration, &pending).into_iter().for_each(own);
            } else {
                buffer.accesses().register_read(&registration, &pending).into_iter().for_each(own);
            }
        }
        let mut state = self.state.lock();
        state.jobs.push_back(job);
        drop(state);
        self.work.notify_one();
    }

    /// The main loop of the thread.
    fn work(&self) {
        loop {
            let mut state = self.state.lock();
            state.is_running = false;
            let job = loop {
                if let Some(job) = state.jobs.pop_front() {
                    break job;
                }
                self.idle.notify_all();
                state = self.work.wait(state);
            };
            state.is_running = true;
            drop(state);
            job.run();
        }
    }

    /// Returns when all launches that were queued before are done.
    pub(super) fn wait_for_all(&self) {
        let mut state = self.state.lock();
        while state.is_running || !state.jobs.is_empty() {
            state = self.idle.wait(state);
        }
    }
}
