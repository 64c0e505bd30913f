//! The locks of this crate when the process forks: see [`jit_runtime::fork`].
//!
//! These locks store which threads wait for them. A forked process has none of those threads, so its locks are
//! reinitialised.

use std::sync::Once;
use std::time::Duration;

use jit_runtime::fork::{self, Handlers, Held};
use parking_lot::lock_api::{RawMutex as _, RawMutexTimed, RawRwLock as _, RawRwLockTimed};
use parking_lot::{Mutex, RawMutex, RawRwLock, RwLock};

/// The longest wait for a lock that is held at the moment of the fork.
const LIMIT: Duration = Duration::from_secs(2);

/// Registers locks to be taken whenever the process forks from now on.
#[inline]
pub(crate) fn watch(watched: &Once, hold: fn(&mut Vec<Held>)) {
    watched.call_once(|| {
        // The locks of the runtime are taken after ours.
        jit_runtime::launch::watch_forks();
        fork::register(Handlers { hold, reset: || {} });
    });
}

/// Takes a lock, for a fork.
pub(crate) fn hold_mutex<T>(held: &mut Vec<Held>, mutex: &'static Mutex<T>) {
    // SAFETY: the lock is released when its holder is dropped, and reinitialised where its owners do not exist.
    let raw = unsafe { mutex.raw() };
    let is_ours = raw.try_lock_for(LIMIT);
    held.push(Box::new(HeldMutex { raw, is_ours }));
}

/// Reinitialises a lock in the child, without taking it.
pub(crate) fn renew_mutex(held: &mut Vec<Held>, mutex: &'static Mutex<()>) {
    // SAFETY: as in `hold_mutex`; the lock protects no data that could be half changed.
    let raw = unsafe { mutex.raw() };
    held.push(Box::new(HeldMutex { raw, is_ours: false }));
}

/// Takes a lock for writing, for a fork.
pub(crate) fn hold_rw_lock<T>(held: &mut Vec<Held>, lock: &'static RwLock<T>) {
    // SAFETY: as in `hold_mutex`.
    let raw = unsafe { lock.raw() };
    let is_ours = raw.try_lock_exclusive_for(LIMIT);
    held.push(Box::new(HeldRwLock { raw, is_ours }));
}

struct HeldMutex {
    raw: &'static RawMutex,
    /// Whether it was taken.
    is_ours: bool,
}

impl Drop for HeldMutex {
    fn drop(&mut self) {
        if fork::is_in_child() {
            // SAFETY: this is the only thread, and a lock is a word that may change behind a reference.
            unsafe { std::ptr::from_ref(self.raw).cast_mut().write(RawMutex::INIT) };
        } else if self.is_ours {
            // SAFETY: it was locked by this thread.
            unsafe { self.raw.unlock() };
        }
    }
}

struct HeldRwLock {
    raw: &'static RawRwLock,
    /// Whether it was taken.
    is_ours: bool,
}

impl Drop for HeldRwLock {
    fn drop(&mut self) {
        if fork::is_in_child() {
            // SAFETY: as for `HeldMutex`.
            unsafe { std::ptr::from_ref(self.raw).cast_mut().write(RawRwLock::INIT) };
        } else if self.is_ours {
            // SAFETY: it was locked by this thread.
            unsafe { self.raw.unlock_exclusive() };
        }
    }
}
