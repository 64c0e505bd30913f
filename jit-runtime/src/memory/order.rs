//! The order of launches: by the data that they share, and by nothing else.
//!
//! Each buffer knows the launches that are still to write and read it. A launch that reads a buffer comes after its
//! writer; a launch that writes one comes after its writer and its readers; launches without a buffer in common run at
//! the same time.
//!
//! Queued launches register at all their buffers at once, under one lock: two launches that share several buffers are
//! then ordered alike at all of them, and no cycle arises. Small launches that run on the calling thread register
//! nowhere. They hold a mark in the buffer's state word while they run, and only if nothing is in their way; a launch
//! that registers waits the few microseconds until such marks are gone. Who holds a mark waits for nobody, so this
//! ends.

use std::any::Any;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard};
use smallvec::SmallVec;

use super::failure::Failure;
use crate::{Error, fork};

/// A registered launch is still to write the buffer.
const WRITE_QUEUED: u32 = 1 << 31;
/// A registered launch is still to read the buffer.
const READ_QUEUED: u32 = 1 << 30;
/// Somebody writes the buffer at this moment without being registered.
const WRITING: u32 = 1 << 29;
/// The launch that should have written the buffer failed.
const FAILED: u32 = 1 << 28;
/// Beside [`WRITING`]: in which process that is, by the lowest bits of [`fork::generation`].
const GENERATION: u32 = 0xff << GENERATION_SHIFT;
const GENERATION_SHIFT: u32 = 20;
/// How many read the buffer at this moment without being registered.
const READERS: u32 = (1 << GENERATION_SHIFT) - 1;

/// The mark of somebody who writes.
fn writing() -> u32 {
    WRITING | (fork::generation() << GENERATION_SHIFT & GENERATION)
}

/// Held while a launch registers at its buffers.
pub(crate) static REGISTRATION: Mutex<()> = Mutex::new(());

/// Held for reading while lists of launches are used, so that a fork finds none of them half changed. Nobody waits for
/// it to write: a fork tries.
pub(crate) static LISTS: RwLock<()> = RwLock::new(());

/// Launches at buffers, with the right to use them.
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

/// The launches that are still to access one buffer.
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

/// A mark that is taken away when it is dropped.
pub(crate) struct Reading<'a>(&'a Accesses);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.end_read();
    }
}

/// A mark that is taken away when it is dropped.
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
        // In this order: who has the list has the right.
        let right = LISTS.read();
        Lists { queued: self.queued.lock(), _right: right }
    }

    /// Marks the buffer as being read, if no writer is in the way and its contents are valid.
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

    /// Marks the buffer as being written, if nobody else is to access it.
    pub(crate) fn try_begin_write(&self) -> bool {
        self.state.compare_exchange(0, writing(), Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    pub(crate) fn end_write(&self) {
        self.state.fetch_and(!(WRITING | GENERATION), Ordering::Release);
    }

    /// Adds a launch that reads the buffer; gives the one that it must come after.
    pub(crate) fn register_read(&self, _: &Registration, task: &Arc<dyn Pending>) -> Option<Arc<dyn Pending>> {
        let mut queued = self.lists();
        queued.readers.push(Arc::clone(task));
        let writer = queued.writer.clone();
        self.state.fetch_or(READ_QUEUED, Ordering::Relaxed);
        drop(queued);
        self.wait_for_marks(WRITING);
        writer
    }

    /// Adds a launch that writes the buffer; gives those that it must come after.
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

    /// Those who hold marks run a small launch, or copy, and wait for nobody; or they look at memory that nobody
    /// writes.
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

    /// Ends what a thread of the process before a fork was writing: it is not here, and the contents are half written.
    #[cold]
    fn abandon_writing(&self) {
        self.fail(&Failure::of_fork(None, None));
        self.end_write();
    }

    /// Takes a launch that is done off the list. A failure stays with the buffers that the launch should have written.
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

    /// Notes that the contents are not what they should be.
    pub(crate) fn fail(&self, failure: &Arc<Failure>) {
        self.lists().failure = Some(Arc::clone(failure));
        self.state.fetch_or(FAILED, Ordering::Relaxed);
    }

    /// Notes that all contents were written anew, whatever failed before: memory of replays serves again.
    pub(crate) fn mend(&self) {
        if self.state.load(Ordering::Relaxed) & FAILED != 0 {
            self.lists().failure = None;
            self.state.fetch_and(!FAILED, Ordering::Relaxed);
        }
    }

    /// Why the contents are not valid.
    pub(crate) fn failure(&self) -> Option<Arc<Failure>> {
        if self.state.load(Ordering::Acquire) & FAILED == 0 {
            return None;
        }
        self.lists().failure.clone()
    }

    fn check_failure(&self) -> Result<(), Error> {
        self.failure().map_or(Ok(()), |failure| Err(failure.report()))
    }

    /// Whether no registered launch is still to write the buffer, nor anybody writes it now.
    pub(crate) fn is_written(&self) -> bool {
        self.state.load(Ordering::Acquire) & (WRITE_QUEUED | WRITING) == 0
    }

    /// Whether nobody accesses the buffer or is registered to, and its contents are valid.
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

    /// As [`Accesses::begin_host_write`], of all contents, whatever failed before.
    pub(crate) fn begin_host_overwrite(&self) -> Writing<'_> {
        loop {
            self.wait_for_writer();
            self.mend();
            if let Some(writing) = self.try_host_write() {
                return writing;
            }
        }
    }

    /// Waits for readers, if there are some; none if somebody was faster.
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
