//! Failures of launches that nobody has seen yet, for `launch::sync`. Any machine adds to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::fork::Held;
use crate::memory::failure::Failure;
use crate::sync::{Mutex, persist};

/// The number of failures that are retained; later ones are found at their buffers.
const MAX_FAILURES: usize = 16;

static FAILURES: Mutex<Vec<Arc<Failure>>> = Mutex::new(Vec::new());
/// Whether the list may be non-empty, readable without its lock.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

/// Takes the lock, for a fork.
pub(super) fn hold(held: &mut Vec<Held>) {
    held.extend(persist(|| FAILURES.try_lock()).map(|guard| Box::new(guard) as Held));
}

/// In a forked process, what failed before is not reported again.
pub(super) fn reset() {
    FAILURES.lock().clear();
}

/// Adds a failure that was not reported to a caller.
pub(super) fn note(failure: &Arc<Failure>) {
    let mut failures = FAILURES.lock();
    failures.retain(|failure| !failure.is_reported());
    let is_known = failures.iter().any(|known| Arc::ptr_eq(known, failure));
    if !is_known && failures.len() < MAX_FAILURES {
        failures.push(Arc::clone(failure));
        HAS_FAILED.store(true, Ordering::Release);
    }
}

/// Takes the first failure that has not been reported; the others are retained.
#[inline]
pub(crate) fn take() -> Option<Arc<Failure>> {
    if HAS_FAILED.load(Ordering::Acquire) { take_noted() } else { None }
}

#[cold]
fn take_noted() -> Option<Arc<Failure>> {
    let mut failures = FAILURES.lock();
    failures.retain(|failure| !failure.is_reported());
    let first = (!failures.is_empty()).then(|| failures.remove(0));
    HAS_FAILED.store(!failures.is_empty(), Ordering::Relaxed);
    first
}
