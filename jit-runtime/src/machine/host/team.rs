//! Work that the calling thread shares with idle workers; it is done when the call returns.
//!
//! This is for work of some ten microseconds, for which a queued launch would have as much overhead: nothing is
//! allocated or registered. There is one team at a time. A thread that finds it in use works alone, with the same
//! result.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::fork::Held;
use crate::sync::{Mutex, persist};

use super::pool;
use crate::clock::Moment;
use crate::float_mode::Standard;
use crate::stats;
use crate::stats::events::{self, Activity};

/// The shared work.
#[derive(Clone, Copy)]
struct Job {
    run: *const (dyn Fn(usize) + Sync),
}

// SAFETY: the function may be called from any thread, and lives while the job can be found or a thread is inside.
unsafe impl Send for Job {}

struct Team {
    /// Whether a thread has shared work here.
    is_taken: AtomicBool,
    job: Mutex<Option<Job>>,
    /// Whether there is a job with unclaimed parts, readable without the lock.
    is_open: AtomicBool,
    /// The unclaimed parts: the first, in the upper half, and the one after the last.
    parts: AtomicUsize,
    /// The number of workers that hold the job.
    inside: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

static TEAM: Team = Team {
    is_taken: AtomicBool::new(false),
    job: Mutex::new(None),
    is_open: AtomicBool::new(false),
    parts: AtomicUsize::new(0),
    inside: AtomicUsize::new(0),
    panic: Mutex::new(None),
};

const HALF: u32 = usize::BITS / 2;
const LOW: usize = (1 << HALF) - 1;

/// Runs parts `0..count`, each once, on this thread and on workers. A panic in one of them is propagated here.
pub(super) fn share(count: usize, run: &(dyn Fn(usize) + Sync)) {
    let owner = if count > 1 && count <= LOW { Owner::take() } else { None };
    let Some(_owner) = owner else { return (0..count).for_each(run) };
    let open = Open::new(count, run);
    while let Some(part) = claim_first() {
        run(part);
    }
    drop(open);
    let panic = TEAM.panic.lock().take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

/// The right to share work, returned on drop.
struct Owner;

impl Owner {
    /// None if another thread has it.
    fn take() -> Option<Owner> {
        let is_mine = TEAM.is_taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if is_mine { Some(Owner) } else { None }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        TEAM.is_taken.store(false, Ordering::Release);
    }
}

/// Takes the locks, for a fork.
pub(in crate::machine) fn hold(held: &mut Vec<Held>) {
    held.extend(persist(|| TEAM.job.try_lock()).map(|guard| Box::new(guard) as Held));
    held.extend(persist(|| TEAM.panic.try_lock()).map(|guard| Box::new(guard) as Held));
}

/// In a forked process no worker is running.
pub(in crate::machine) fn reset() {
    TEAM.is_open.store(false, Ordering::Relaxed);
    TEAM.parts.store(0, Ordering::Relaxed);
    TEAM.inside.store(0, Ordering::Relaxed);
    *TEAM.job.lock() = None;
    *TEAM.panic.lock() = None;
    TEAM.is_taken.store(false, Ordering::Relaxed);
}

/// Exists while the job can be found. Its drop waits for the workers that hold the job.
struct Open;

impl Open {
    fn new(count: usize, run: &(dyn Fn(usize) + Sync)) -> Open {
        // SAFETY: only the lifetime changes. The function is not called after the drop, which comes before the end of
        // the borrow.
        let run = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(run) };
        let mut job = TEAM.job.lock();
        *job = Some(Job { run });
        *TEAM.panic.lock() = None;
        TEAM.parts.store(count, Ordering::Relaxed);
        TEAM.is_open.store(true, Ordering::SeqCst);
        drop(job);
        pool::call_workers(count - 1);
        Open
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        TEAM.is_open.store(false, Ordering::Relaxed);
        *TEAM.job.lock() = None;
        let mut turns = 0_u32;
        while TEAM.inside.load(Ordering::Acquire) > 0 {
            turns += 1;
            if turns < 10_000 {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}

/// Whether there is something to do.
pub(super) fn is_open() -> bool {
    TEAM.is_open.load(Ordering::SeqCst)
}

/// Takes part in the work of another thread, if there is any.
pub(super) fn help() {
    if !is_open() {
        return;
    }
    let job = TEAM.job.lock();
    let Some(Job { run }) = *job else { return };
    // Under the lock: the owner takes it before it checks, and then waits for this thread.
    TEAM.inside.fetch_add(1, Ordering::Relaxed);
    drop(job);
    let _mode = Standard::enter();
    let (started, watched) = (Moment::now(), events::begin());
    while let Some(part) = claim_last() {
        // SAFETY: the owner waits until no thread is inside.
        let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { (*run)(part) }));
        if let Err(panic) = outcome {
            *TEAM.panic.lock() = Some(panic);
        }
    }
    stats::count_busy(started.elapsed_ns());
    watched.end(None, || Activity::Help);
    TEAM.inside.fetch_sub(1, Ordering::Release);
}

/// The owner claims parts from the first on, so that it gets the same ones each time...
fn claim_first() -> Option<usize> {
    claim(|first, end| (first, first + 1, end))
}

/// ...and workers claim from the last one back.
fn claim_last() -> Option<usize> {
    claim(|first, end| (end - 1, first, end - 1))
}

fn claim(take: impl Fn(usize, usize) -> (usize, usize, usize)) -> Option<usize> {
    let mut parts = TEAM.parts.load(Ordering::Relaxed);
    loop {
        let (first, end) = (parts >> HALF, parts & LOW);
        if first >= end {
            TEAM.is_open.store(false, Ordering::Relaxed);
            return None;
        }
        let (part, first, end) = take(first, end);
        match TEAM.parts.compare_exchange_weak(parts, first << HALF | end, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return Some(part),
            Err(now) => parts = now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_run_once_by_whomever() {
        for count in [0, 1, 2, 7, 1000] {
            let runs: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            share(count, &|part| {
                runs[part].fetch_add(1, Ordering::Relaxed);
                std::thread::yield_now();
            });
            assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1), "{count}: {runs:?}");
        }
    }

    #[test]
    fn several_threads_share_work_at_once() {
        let share_some = || {
            for _ in 0..200 {
                let sum = AtomicUsize::new(0);
                share(8, &|part| {
                    sum.fetch_add(part, Ordering::Relaxed);
                });
                assert_eq!(sum.into_inner(), 28);
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(share_some))));
    }

    #[test]
    fn a_panic_of_a_part_continues_in_the_caller() {
        let run = || {
            share(16, &|part| {
                std::thread::yield_now();
                assert!(part % 8 != 7, "part {part}");
            });
        };
        let panic = catch_unwind(run).unwrap_err();
        assert!(panic.downcast_ref::<String>().unwrap().starts_with("part "));
        share(4, &|_| {});
    }
}
