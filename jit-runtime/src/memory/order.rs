//! The order of launches, which is determined only by the data that they share.
//!
//! Each buffer knows the pending launches that write and read it. A launch that reads a buffer comes after its writer.
//! A launch that writes one comes after its writer and its readers. Launches without a common buffer run in parallel.
//!
//! Queued launches register at all their buffers at once, under one lock. Two launches that share several buffers are
//! then ordered in the same way at all of them, and no cycle arises. Small launches that run on the calling thread do
//! not register. They hold a mark in the buffer's state word while they run, and only if no other launch conflicts. A
//! launch that registers waits the few microseconds until such marks are gone. A thread that holds a mark never waits,
//! so this terminates.

use std::any::Any;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard};
use smallvec::SmallVec;

use super::failure::Failure;
use crate::{Error, fork};

/// A registered launch will write the buffer.
const WRITE_QUEUED: u32 = 1 << 31;
/// A registered launch will read the buffer.
const READ_QUEUED: u32 = 1 << 30;
/// A thread is writing the buffer without being registered.
const WRITING: u32 = 1 << 29;
/// The launch that should have written the buffer failed.
const FAILED: u32 = 1 << 28;
/// With [`WRITING`]: the process that writes, as the lowest bits of [`fork::generation`].
const GENERATION: u32 = 0xff << GENERATION_SHIFT;
const GENERATION_SHIFT: u32 = 20;
/// The number of unregistered readers of the buffer at this moment.
const READERS: u32 = (1 << GENERATION_SHIFT) - 1;

/// The mark of an unregistered writer.
fn writing() -> u32 {
    WRITING | (fork::generation() << GENERATION_SHIFT & GENERATION)
}

/// Held while a launch registers at its buffers.
pub(crate) static REGISTRATION: Mutex<()> = Mutex::new(());

/// Held for reading while lists of launches are used, so that a fork finds none of them half changed. No thread blocks
/// to take it for writing: a fork only tries.
pub(crate) static LISTS: RwLock<()> = RwLock::new(());

/// The launches at buffers, with the right to use them.
struct Lists<'a> {
    queued: MutexGuard<'a, Queued>,
    _right: RwLockReadGuard<'static, ()>,
}

impl Deref for Lists<'_> {
    type Target = Queued;

    fn deref(&self) -> &Queued {
        &self.queued
    }
}

impl DerefMut for Lists<'_> {
    fn deref_mut(&mut self) -> &mut Queued {
        &mut self.queued
    }
}

/// A launch that is registered at buffers.
pub(crate) trait Pending: Any + Send + Sync {
    /// Returns when the launch is done; the calling thread may take part in the work meanwhile.
    fn wait(self: Arc<Self>);
}

/// The pending launches that access one buffer.
#[derive(Default)]
pub(crate) struct Accesses {
    state: AtomicU32,
    queued: Mutex<Queued>,
}

#[derive(Default)]
struct Queued {
    writer: Option<Arc<dyn Pending>>,
    readers: SmallVec<[Arc<dyn Pending>; 2]>,
    failure: Option<Arc<Failure>>,
}

/// The right to register launches.
pub(crate) struct Registration(#[expect(dead_code, reason = "held for its lock")] MutexGuard<'static, ()>);

/// Waits for the right to register a launch.
pub(crate) fn begin_registration() -> Registration {
    Registration(REGISTRATION.lock())
}

/// A read mark that is removed on drop.
pub(crate) struct Reading<'a>(&'a Accesses);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.end_read();
    }
}

/// A write mark that is removed on drop.
pub(crate) struct Writing<'a>(&'a Accesses);

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.end_write();
    }
}

fn is_same(a: &Arc<dyn Pending>, b: &Arc<dyn Pending>) -> bool {
    ptr::addr_eq(Arc::as_ptr(a), Arc::as_ptr(b))
}

impl Accesses {
    fn lists(&self) -> Lists<'_> {
        // In this order: holding the list implies holding the right.
        let right = LISTS.read();
        Lists { queued: self.queued.lock(), _right: right }
    }

    /// Marks the buffer as being read, if no writer conflicts and its contents are valid.
    pub(crate) fn try_begin_read(&self) -> bool {
        let before = self.state.fetch_add(1, Ordering::Acquire);
        let free = before & (WRITE_QUEUED | WRITING | FAILED) == 0;
        if !free {
            self.end_read();
        }
        free
    }

    pub(crate) fn end_read(&self) {
        self.state.fetch_sub(1, Ordering::Release);
    }

    /// Marks the buffer as being written, if there is no other access.
    pub(crate) fn try_begin_write(&self) -> bool {
        self.state.compare_exchange(0, writing(), Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    pub(crate) fn end_write(&self) {
        self.state.fetch_and(!(WRITING | GENERATION), Ordering::Release);
    }

    /// Adds a launch that reads the buffer. Returns the one that it must come after.
    pub(crate) fn register_read(&self, _: &Registration, task: &Arc<dyn Pending>) -> Option<Arc<dyn Pending>> {
        let mut queued = self.lists();
        queued.readers.push(Arc::clone(task));
        let writer = queued.writer.clone();
        self.state.fetch_or(READ_QUEUED, Ordering::Relaxed);
        drop(queued);
        self.wait_for_marks(WRITING);
        writer
    }

    /// Adds a launch that writes the buffer. Returns those that it must come after.
    pub(crate) fn register_write(&self, _: &Registration, task: &Arc<dyn Pending>) -> SmallVec<[Arc<dyn Pending>; 2]> {
        let mut queued = self.lists();
        let mut before = std::mem::take(&mut queued.readers);
        before.extend(queued.writer.replace(Arc::clone(task)));
        self.state.fetch_or(WRITE_QUEUED, Ordering::Relaxed);
        self.state.fetch_and(!READ_QUEUED, Ordering::Relaxed);
        drop(queued);
        self.wait_for_marks(WRITING | READERS);
        before
    }

    /// Holders of marks run a small launch, or copy, and never wait; or they read memory that no launch writes.
    fn wait_for_marks(&self, marks: u32) {
        let mut turns = 0_u32;
        loop {
            let state = self.state.load(Ordering::Acquire);
            if state & marks == 0 {
                return;
            }
            if state & marks & WRITING != 0 && state & (WRITING | GENERATION) != writing() {
                self.abandon_writing();
                continue;
            }
            turns += 1;
            if turns < 1000 {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }

    /// Ends a write by a thread of the process before a fork: the thread does not exist here, and the contents are half
    /// written.
    #[cold]
    fn abandon_writing(&self) {
        self.fail(&Failure::of_fork(None, None));
        self.end_write();
    }

    /// Removes a launch that is done from the list. A failure is stored at the buffers that the launch should have
    /// written.
    pub(crate) fn complete(&self, task: &Arc<dyn Pending>, failure: Option<&Arc<Failure>>) {
        let mut queued = self.lists();
        let mut done = 0;
        if queued.writer.as_ref().is_some_and(|writer| is_same(writer, task)) {
            queued.writer = None;
            done |= WRITE_QUEUED;
        }
        queued.readers.retain(|reader| !is_same(reader, task));
        if queued.readers.is_empty() {
            done |= READ_QUEUED;
        }
        if let Some(failure) = failure {
            queued.failure = Some(Arc::clone(failure));
            self.state.fetch_or(FAILED, Ordering::Relaxed);
        }
        self.state.fetch_and(!done, Ordering::Release);
    }

    /// Records that the contents are invalid.
    pub(crate) fn fail(&self, failure: &Arc<Failure>) {
        self.lists().failure = Some(Arc::clone(failure));
        self.state.fetch_or(FAILED, Ordering::Relaxed);
    }

    /// Records that all contents were rewritten, whatever failed before: replays reuse memory.
    pub(crate) fn mend(&self) {
        if self.state.load(Ordering::Relaxed) & FAILED != 0 {
            self.lists().failure = None;
            self.state.fetch_and(!FAILED, Ordering::Relaxed);
        }
    }

    /// The failure because of which the contents are invalid.
    pub(crate) fn failure(&self) -> Option<Arc<Failure>> {
        if self.state.load(Ordering::Acquire) & FAILED == 0 {
            return None;
        }
        self.lists().failure.clone()
    }

    fn check_failure(&self) -> Result<(), Error> {
        self.failure().map_or(Ok(()), |failure| Err(failure.report()))
    }

    /// Whether no registered launch will write the buffer, and no thread is writing it now.
    pub(crate) fn is_written(&self) -> bool {
        self.state.load(Ordering::Acquire) & (WRITE_QUEUED | WRITING) == 0
    }

    /// Whether no access is in progress or registered, and the contents are valid.
    pub(crate) fn is_idle(&self) -> bool {
        self.state.load(Ordering::Acquire) == 0
    }

    /// Returns when the buffer is written.
    pub(crate) fn wait_written(&self) -> Result<(), Error> {
        self.wait_for_writer();
        self.check_failure()
    }

    fn wait_for_writer(&self) {
        while !self.is_written() {
            let writer = self.lists().writer.clone();
            match writer {
                Some(writer) => writer.wait(),
                None => self.wait_for_marks(WRITING),
            }
        }
    }

    /// Waits until the buffer may be read on the host.
    pub(crate) fn begin_host_read(&self) -> Result<Reading<'_>, Error> {
        loop {
            self.wait_written()?;
            if self.try_begin_read() {
                return Ok(Reading(self));
            }
        }
    }

    /// Waits until the buffer may be overwritten on the host.
    pub(crate) fn begin_host_write(&self) -> Result<Writing<'_>, Error> {
        loop {
            self.wait_written()?;
            if let Some(writing) = self.try_host_write() {
                return Ok(writing);
            }
        }
    }

    /// As [`Accesses::begin_host_write`], for all contents, whatever failed before.
    pub(crate) fn begin_host_overwrite(&self) -> Writing<'_> {
        loop {
            self.wait_for_writer();
            self.mend();
            if let Some(writing) = self.try_host_write() {
                return writing;
            }
        }
    }

    /// Waits for readers, if there are any; returns none if another thread was faster.
    fn try_host_write(&self) -> Option<Writing<'_>> {
        let reader = self.lists().readers.first().cloned();
        if let Some(reader) = reader {
            reader.wait();
        } else if self.try_begin_write() {
            return Some(Writing(self));
        } else {
            self.wait_for_marks(WRITING | READERS);
        }
        None
    }
}
