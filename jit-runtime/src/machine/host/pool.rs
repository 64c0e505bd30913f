//! The threads that run queued launches.
//!
//! There is one worker less than the machine has cores: the thread that waits for a result is the last one. Workers
//! poll for work for a short while before they sleep, since launches come in bursts. A worker that finds more work than
//! it can claim wakes the next one, so a launching thread pays for at most one wake-up.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use crate::fork::Held;
use crate::sync::{Condvar, Mutex, persist};
use smallvec::SmallVec;

use super::flight::{Flight, REUSED_BYTES};
use super::task::Task;
use super::{blocks, team};
use crate::config;
use crate::machine::failures;
use crate::memory::{Buffer, reclaim};
use crate::stats::events::{self, Activity};

/// How long a thread without work polls before it sleeps. Waking it takes about 25 µs, and the host often takes about
/// ten between two launches.
const SPIN: Duration = Duration::from_micros(100);

struct Pool {
    queue: Mutex<Queue>,
    /// Wakes workers; used with `queue`.
    work: Condvar,
    /// The number of tasks in the queue, readable without its lock.
    queued: AtomicUsize,
    /// Workers that should exist.
    wanted_workers: AtomicUsize,
    /// The number of threads that sleep in [`wait_until`]; `progress` wakes them.
    waiters: AtomicUsize,
    progress_lock: Mutex<()>,
    progress: Condvar,
    /// Launches that are not done.
    flight: Mutex<Flight>,
    /// The number of launches in flight, readable without the lock.
    in_flight: AtomicUsize,
}

#[derive(Default)]
struct Queue {
    tasks: VecDeque<Arc<Task>>,
    workers: usize,
    sleeping: usize,
}

static POOL: LazyLock<Pool> = LazyLock::new(|| {
    reclaim::on_shortage(wait_for_all);
    Pool {
        queue: Mutex::new(Queue::default()),
        work: Condvar::new(),
        queued: AtomicUsize::new(0),
        wanted_workers: AtomicUsize::new(config::get().threads.unwrap_or_else(cores) - 1),
        waiters: AtomicUsize::new(0),
        progress_lock: Mutex::new(()),
        progress: Condvar::new(),
        flight: Mutex::new(Flight::default()),
        in_flight: AtomicUsize::new(0),
    }
});

/// Takes the locks of the pool, for a fork.
pub(in crate::machine) fn hold(held: &mut Vec<Held>) {
    held.extend(persist(|| POOL.flight.try_lock()).map(|guard| Box::new(guard) as Held));
    held.extend(persist(|| POOL.queue.try_lock()).map(|guard| Box::new(guard) as Held));
    held.extend(persist(|| POOL.progress_lock.try_lock()).map(|guard| Box::new(guard) as Held));
}

/// In a forked process there are no workers yet, and launches that were not done never will be.
pub(in crate::machine) fn reset() {
    *POOL.queue.lock() = Queue::default();
    POOL.queued.store(0, Ordering::Relaxed);
    POOL.waiters.store(0, Ordering::Relaxed);
    let flight = std::mem::take(&mut *POOL.flight.lock());
    POOL.in_flight.store(0, Ordering::Relaxed);
    flight.tasks().for_each(Task::abandon);
}

/// The number of cores that this process may use.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The number of threads that run launches, including the one that waits for a result.
#[must_use]
pub fn threads() -> usize {
    POOL.wanted_workers.load(Ordering::Relaxed) + 1
}

/// Sets the number of threads that run launches, including the one that waits for a result. At least one.
///
/// With one thread every launch is done when the call returns. The number does not affect results, except those whose
/// order is unspecified, see [`set_deterministic`](crate::launch::set_deterministic).
pub fn set_threads(threads: usize) {
    POOL.wanted_workers.store(threads.max(1) - 1, Ordering::Relaxed);
    let _queue = POOL.queue.lock();
    POOL.work.notify_all();
}

/// Starts missing workers; they are not needed before the first launch is queued.
fn start_workers(queue: &mut Queue) {
    while queue.workers < POOL.wanted_workers.load(Ordering::Relaxed) {
        let name = format!("jit-{}", queue.workers + 1);
        let index = queue.workers;
        if std::thread::Builder::new().name(name).spawn(move || work(index)).is_err() {
            // The system refuses more threads: continue with the existing ones.
            POOL.wanted_workers.store(queue.workers, Ordering::Relaxed);
            return;
        }
        queue.workers += 1;
    }
}

/// The main loop of a worker.
fn work(index: usize) {
    blocks::set_home(index + 1);
    loop {
        team::help();
        while let Some(task) = find_task() {
            while task.run_block() {}
        }
        if !is_soon(|| POOL.queued.load(Ordering::Relaxed) > 0 || team::is_open()) && !sleep(index) {
            return;
        }
    }
}

/// Sleeps until there is work. Returns false if the worker should end.
fn sleep(index: usize) -> bool {
    let mut queue = POOL.queue.lock();
    while queue.tasks.is_empty() && !team::is_open() {
        // The last one ends first, so that the others retain their numbers.
        if index >= POOL.wanted_workers.load(Ordering::Relaxed) && index + 1 == queue.workers {
            queue.workers -= 1;
            POOL.work.notify_all();
            return false;
        }
        queue.sleeping += 1;
        queue = POOL.work.wait(queue);
        queue.sleeping -= 1;
    }
    true
}

/// Wakes workers for work that is shared with them.
pub(super) fn call_workers(most: usize) {
    let mut queue = POOL.queue.lock();
    start_workers(&mut queue);
    let sleeping = queue.sleeping.min(most);
    drop(queue);
    for _ in 0..sleeping {
        POOL.work.notify_one();
    }
}

/// Polls for a short while whether a condition becomes true.
fn is_soon(condition: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    loop {
        for _ in 0..32 {
            if condition() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.elapsed() > SPIN {
            return false;
        }
    }
}

/// A task with unclaimed blocks.
fn find_task() -> Option<Arc<Task>> {
    if POOL.queued.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let mut queue = POOL.queue.lock();
    while queue.tasks.front().is_some_and(|task| task.is_exhausted()) {
        queue.tasks.pop_front();
    }
    POOL.queued.store(queue.tasks.len(), Ordering::Relaxed);
    let task = queue.tasks.front().cloned()?;
    if queue.sleeping > 0 && (task.unclaimed_blocks() > 1 || queue.tasks.len() > 1) {
        POOL.work.notify_one();
    }
    Some(task)
}

/// Counts a launch before it is registered anywhere.
pub(super) fn announce(task: &Arc<Task>) {
    let mut flight = POOL.flight.lock();
    flight.add(task);
    POOL.in_flight.store(flight.len(), Ordering::Release);
}

/// Returns when few enough launches are in flight for another one to be queued, taking part in the oldest ones
/// meanwhile.
pub(super) fn wait_for_room() {
    loop {
        // A guard inside the condition would be held while the launch runs.
        let oldest = POOL.flight.lock().excess();
        match oldest {
            Some(oldest) => wait_for(&oldest),
            None => return,
        }
    }
}

/// Memory of this size that launches in flight still use and nothing else does.
pub(super) fn reusable_memory(size_bytes: usize) -> Option<Arc<Buffer>> {
    if size_bytes < REUSED_BYTES || POOL.in_flight.load(Ordering::Relaxed) == 0 {
        return None;
    }
    POOL.flight.lock().reusable(size_bytes)
}

/// Queues a task that may run, after the others.
pub(super) fn push(task: &Arc<Task>) {
    queue_by(|tasks| tasks.push_back(Arc::clone(task)));
}

/// Queues a task that may run, before the others.
pub(super) fn push_front(task: &Arc<Task>) {
    queue_by(|tasks| tasks.push_front(Arc::clone(task)));
}

fn queue_by(add: impl FnOnce(&mut VecDeque<Arc<Task>>)) {
    let mut queue = POOL.queue.lock();
    start_workers(&mut queue);
    add(&mut queue.tasks);
    POOL.queued.store(queue.tasks.len(), Ordering::SeqCst);
    let wake = queue.sleeping > 0;
    drop(queue);
    if wake {
        POOL.work.notify_one();
    }
    wake_waiters();
}

/// Completes a task that is done: tasks that waited for it may run.
pub(super) fn complete(task: &Arc<Task>, dependents: SmallVec<[Arc<Task>; 2]>) {
    if let Some(failure) = task.failure() {
        failures::note(failure);
    }
    let mut flight = POOL.flight.lock();
    flight.remove(task);
    POOL.in_flight.store(flight.len(), Ordering::Release);
    drop(flight);
    for dependent in dependents {
        if dependent.stop_waiting() {
            // First in line: the data that was just written is still in the cache.
            push_front(&dependent);
        }
    }
    wake_waiters();
}

fn wake_waiters() {
    if POOL.waiters.load(Ordering::SeqCst) > 0 {
        drop(POOL.progress_lock.lock());
        POOL.progress.notify_all();
    }
}

/// Returns when a launch is done, taking part in the work meanwhile: first in this launch, then in any.
pub(super) fn wait_for(task: &Arc<Task>) {
    if task.is_done() {
        return;
    }
    let started = events::begin();
    while !task.is_done() {
        while task.may_run() && task.run_block() {}
        wait_until(|| task.is_done() || (task.may_run() && !task.is_exhausted()));
    }
    started.end(None, || Activity::Wait);
}

fn wait_until(condition: impl Fn() -> bool) {
    let is_over = || condition() || POOL.queued.load(Ordering::SeqCst) > 0;
    while !condition() {
        if let Some(task) = find_task() {
            task.run_block();
        } else if !is_soon(is_over) {
            let lock = POOL.progress_lock.lock();
            POOL.waiters.fetch_add(1, Ordering::SeqCst);
            if !is_over() {
                drop(POOL.progress.wait(lock));
            }
            POOL.waiters.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Returns when all earlier launches are done.
#[inline]
pub(crate) fn wait_for_all() {
    // This thread has counted its own launches, and the effects of others are visible once they are not counted any
    // more.
    if POOL.in_flight.load(Ordering::Acquire) > 0 {
        wait_for_flight();
    }
}

#[cold]
fn wait_for_flight() {
    let tasks: Vec<Arc<Task>> = POOL.flight.lock().tasks().cloned().collect();
    for task in &tasks {
        wait_for(task);
    }
}
