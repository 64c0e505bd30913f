//! Queued launches: the blocks that threads claim, and the launches that wait for them.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::sync::{Mutex, MutexGuard};
use smallvec::SmallVec;

use super::blocks::Blocks;
use super::pool;
use super::work::Work;
use crate::cancel::Token;
use crate::float_mode::Standard;
use crate::machine::work::{Accessed, release};
use crate::memory::failure::Failure;
use crate::memory::order::{self, Pending, Registration};
use crate::stats::{self, Watched, now_ns};
use crate::{Error, Label, Site};

/// A launch that is to be queued.
pub(super) struct Queued {
    pub(super) work: Box<dyn Work>,
    pub(super) accessed: Vec<Accessed>,
    /// The blocks of the work, and which of them are unclaimed.
    pub(super) blocks: Blocks,
    /// Receives the time that it took, for statistics.
    pub(super) time: Arc<AtomicU64>,
    /// Tells a profile what threads work on it, if one runs.
    pub(super) watched: Option<Box<Watched>>,
    /// Determines whether it is cancelled.
    pub(super) token: Token,
    pub(super) label: Label,
    pub(super) site: Option<Site>,
}

/// A launch whose work is distributed in blocks.
pub(crate) struct Task {
    /// Launches are numbered in the order in which they are queued.
    number: u64,
    /// Bytes in the buffers that it writes.
    written_bytes: usize,
    work: Box<dyn Work>,
    blocks: Blocks,
    unfinished_blocks: AtomicUsize,
    /// The work that remains when all blocks have run.
    merging: OnceLock<Merging>,
    /// The number of launches that this one waits for, plus one while it is being registered.
    waiting_for: AtomicUsize,
    /// Launches that wait for this one; none when it is done.
    dependents: Mutex<Option<SmallVec<[Arc<Task>; 2]>>>,
    is_done: AtomicBool,
    /// Keeps the buffers alive until the launch is done.
    accessed: Mutex<Vec<Accessed>>,
    failure: OnceLock<Arc<Failure>>,
    started_ns: AtomicU64,
    busy_ns: AtomicU64,
    /// Receives the time that it took, for statistics.
    time: Arc<AtomicU64>,
    watched: Option<Box<Watched>>,
    token: Token,
    label: Label,
    site: Option<Site>,
}

/// Work that begins when all blocks have run, in parts that threads claim.
struct Merging {
    parts: Blocks,
    unfinished: AtomicUsize,
}

/// The number of the next launch that is queued.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Queues a launch after those that it depends on.
pub(super) fn enqueue(queued: Queued) {
    let written = queued.accessed.iter().filter(|access| access.writes);
    let task = Arc::new(Task {
        number: NEXT.fetch_add(1, Ordering::Relaxed),
        written_bytes: written.map(|access| access.buffer.size_bytes()).sum(),
        work: queued.work,
        unfinished_blocks: AtomicUsize::new(queued.blocks.unclaimed()),
        blocks: queued.blocks,
        merging: OnceLock::new(),
        waiting_for: AtomicUsize::new(1),
        dependents: Mutex::new(Some(SmallVec::new())),
        is_done: AtomicBool::new(false),
        accessed: Mutex::new(queued.accessed),
        failure: OnceLock::new(),
        started_ns: AtomicU64::new(u64::MAX),
        busy_ns: AtomicU64::new(0),
        time: queued.time,
        watched: queued.watched,
        token: queued.token,
        label: queued.label,
        site: queued.site,
    });
    pool::announce(&task);
    task.register();
    if task.stop_waiting() {
        pool::push(&task);
    }
    if pool::threads() == 1 {
        pool::wait_for(&task);
    } else {
        pool::wait_for_room();
    }
}

impl Pending for Task {
    fn wait(self: Arc<Self>) {
        pool::wait_for(&self);
    }
}

impl Task {
    /// Registers the launch after the launches that access the same buffers.
    fn register(self: &Arc<Self>) {
        let registration = order::begin_registration();
        for Accessed { buffer, writes, .. } in &*self.accessed.lock() {
            let pending: Arc<dyn Pending> = Arc::<Task>::clone(self);
            if *writes {
                for before in buffer.accesses().register_write(&registration, &pending) {
                    self.come_after(before, &registration);
                }
            } else if let Some(before) = buffer.accesses().register_read(&registration, &pending) {
                self.come_after(before, &registration);
            }
        }
    }

    fn come_after(self: &Arc<Self>, before: Arc<dyn Pending>, _: &Registration) {
        let before: Arc<dyn Any + Send + Sync> = before;
        let Ok(before) = before.downcast::<Task>() else { unreachable!("only tasks are registered at buffers") };
        if let Some(dependents) = &mut *before.dependents.lock() {
            self.waiting_for.fetch_add(1, Ordering::Relaxed);
            dependents.push(Arc::clone(self));
        }
    }

    /// Decrements the number of waits. Returns true for the last one: the launch may run then.
    pub(super) fn stop_waiting(&self) -> bool {
        if self.waiting_for.fetch_sub(1, Ordering::AcqRel) > 1 {
            return false;
        }
        self.inherit_failure();
        true
    }

    /// Contents that failed launches should have written must not be read: an index could have any value.
    fn inherit_failure(&self) {
        let accessed = self.accessed.lock();
        let read = accessed.iter().filter(|access| access.reads);
        for failure in read.filter_map(|access| access.buffer.accesses().failure()) {
            let _ = self.failure.set(failure);
        }
    }

    /// The number of the launch. Launches that were queued later have larger ones.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Bytes in the buffers that it writes.
    pub(super) fn written_bytes(&self) -> usize {
        self.written_bytes
    }

    /// Its buffers, which it retains while they are locked; none if few threads take part in it, or it is just ending.
    pub(super) fn buffers(&self) -> Option<MutexGuard<'_, Vec<Accessed>>> {
        if self.blocks.count() < pool::threads() { None } else { self.accessed.try_lock() }
    }

    /// Whether all launches that it depends on are done.
    pub(super) fn may_run(&self) -> bool {
        self.waiting_for.load(Ordering::Acquire) == 0
    }

    /// Whether all blocks are claimed.
    pub(super) fn is_exhausted(&self) -> bool {
        self.unclaimed_blocks() == 0
    }

    /// The number of blocks that have not been claimed yet.
    pub(super) fn unclaimed_blocks(&self) -> usize {
        self.blocks.unclaimed() + self.merging.get().map_or(0, |merging| merging.parts.unclaimed())
    }

    /// Whether the launch is done and its buffers are released.
    pub(super) fn is_done(&self) -> bool {
        self.is_done.load(Ordering::SeqCst)
    }

    /// Why the launch has no result.
    pub(super) fn failure(&self) -> Option<&Arc<Failure>> {
        self.failure.get()
    }

    /// Runs an unclaimed block; returns false if there is none. Only allowed if [`Task::may_run`].
    pub(super) fn run_block(self: &Arc<Self>) -> bool {
        let Some(block) = self.blocks.claim() else { return self.merge_part() };
        let _mode = Standard::enter();
        let started = now_ns();
        self.started_ns.fetch_min(started, Ordering::Relaxed);
        self.note_cancellation();
        if self.failure.get().is_none() {
            // SAFETY: the buffers live until the launch is done. Conflicting launches come before or after this one,
            // and all before are done. The block was claimed, so it runs once.
            self.guard(|| unsafe { self.work.run(block, self.token.poll()) });
            self.note_cancellation();
        } else {
            self.work.skip(block);
        }
        let ended = now_ns();
        self.busy_ns.fetch_add(ended.saturating_sub(started), Ordering::Relaxed);
        if let Some(watched) = &self.watched {
            watched.worked(started, ended);
        }
        if self.unfinished_blocks.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.finish_blocks(ended);
        }
        true
    }

    /// A cancelled launch fails, whether remaining blocks were skipped or a running one was aborted.
    fn note_cancellation(&self) {
        if self.token.poll().is_cancelled() && self.failure.get().is_none() {
            self.guard(|| self.token.check(self.label, self.site));
        }
    }

    /// Runs once, on the thread that finished the last block.
    fn finish_blocks(self: &Arc<Self>, ended_ns: u64) {
        let count = if self.failure.get().is_none() { self.work.merge_parts() } else { 0 };
        if count == 0 {
            return self.complete(ended_ns);
        }
        let parts = Blocks::new(count, pool::threads());
        let _ = self.merging.set(Merging { parts, unfinished: AtomicUsize::new(count) });
        if count > 1 {
            // Other threads may help. The queue may have removed the launch, as nothing was left to claim.
            pool::push_front(self);
        }
        while self.merge_part() {}
    }

    /// Merges an unclaimed part; returns false if there is none.
    fn merge_part(self: &Arc<Self>) -> bool {
        let Some(merging) = self.merging.get() else { return false };
        let Some(part) = merging.parts.claim() else { return false };
        let _mode = Standard::enter();
        let merge = || {
            // SAFETY: all blocks are done, the buffers are still reserved for this launch, and the part was claimed.
            unsafe { self.work.merge(part) };
            Ok(())
        };
        let started = self.watched.as_ref().map(|_| now_ns());
        self.guard(merge);
        if let (Some(watched), Some(started)) = (&self.watched, started) {
            watched.worked(started, now_ns());
        }
        if merging.unfinished.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.complete(now_ns());
        }
        true
    }

    fn guard(&self, run: impl FnOnce() -> Result<(), Error>) {
        if let Some(failure) = Failure::of(catch_unwind(AssertUnwindSafe(run)), self.label, self.site) {
            let _ = self.failure.set(failure);
        }
    }

    /// Runs once, on the thread that finished the last of the work.
    fn complete(self: &Arc<Self>, ended_ns: u64) {
        if self.failure.get().is_none() {
            let finish = || {
                // SAFETY: all blocks and parts are done, and the buffers are still reserved for this launch.
                unsafe {
                    self.work.finish();
                    self.work.check()
                }
            };
            self.guard(finish);
        }
        self.measure(ended_ns);
        // At once for all buffers: a forked process would not find the remaining ones.
        let lists = order::LISTS.read();
        let accessed = std::mem::take(&mut *self.accessed.lock());
        let pending: Arc<dyn Pending> = Arc::<Task>::clone(self);
        release(&accessed, &pending, self.failure.get());
        drop(lists);
        drop(accessed);
        let dependents = self.dependents.lock().take().unwrap_or_default();
        self.is_done.store(true, Ordering::SeqCst);
        pool::complete(self, dependents);
    }

    /// Ends a launch in a forked process, which has no workers: reading its results fails. State that a thread of the
    /// other process held at that moment is left as it is.
    pub(super) fn abandon(self: &Arc<Self>) {
        let _ = self.failure.set(Failure::of_fork(Some(self.label), self.site));
        let accessed = self.accessed.try_lock().map(|mut accessed| std::mem::take(&mut *accessed)).unwrap_or_default();
        let pending: Arc<dyn Pending> = Arc::<Task>::clone(self);
        for Accessed { buffer, writes, .. } in &accessed {
            buffer.accesses().complete(&pending, self.failure.get().filter(|_| *writes));
        }
        drop(self.dependents.try_lock().and_then(|mut dependents| dependents.take()));
        self.is_done.store(true, Ordering::SeqCst);
    }

    fn measure(&self, ended_ns: u64) {
        let busy_ns = self.busy_ns.load(Ordering::Relaxed);
        if self.failure.get().is_none() {
            self.work.learn(busy_ns);
        }
        stats::count_busy(busy_ns);
        let started_ns = self.started_ns.load(Ordering::Relaxed);
        self.time.store(ended_ns.saturating_sub(started_ns).max(1), Ordering::Release);
        if let Some(watched) = &self.watched {
            watched.finish(started_ns, ended_ns);
        }
    }
}
