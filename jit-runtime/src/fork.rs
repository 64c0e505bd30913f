//! What happens when the process forks.
//!
//! The child has a copy of all memory and one thread, the one that called `fork`. A lock that another thread held would
//! be locked in the copy for ever, and what it protects half changed. So the locks of the process are taken before, in
//! their order, and released after, on both sides; and in the child what other threads were at is put right: workers
//! are started anew, launches that were not done are failures, kernels that were being compiled are nobody's.
//!
//! Each floor registers the locks that it has; those that are registered later are taken earlier, as who holds a lock
//! may take those of the floors beneath. Only `fork` as a function of the C library is seen. What another thread was
//! writing at that moment is half written, and a failure for whoever reads it: see [`generation`].

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::sync::Mutex;

/// A lock that is held while the process forks.
pub type Held = Box<dyn Any>;

/// What a part of the program does when the process forks.
#[derive(Clone, Copy)]
pub struct Handlers {
    /// Takes its locks.
    pub hold: fn(&mut Vec<Held>),
    /// Called in the child, with all locks released.
    pub reset: fn(),
}

/// Those who are registered, the highest floor last.
static REGISTERED: Mutex<Vec<Handlers>> = Mutex::new(Vec::new());

/// What is held between the two halves of a fork; only the thread that forks gets there.
struct Between(std::cell::UnsafeCell<Vec<Held>>);

// SAFETY: the list is accessed by the handlers alone, of which the C library runs those of one fork at a time.
unsafe impl Sync for Between {}

static HELD: Between = Between(std::cell::UnsafeCell::new(Vec::new()));

static IS_IN_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether what is [`Held`] is released in the child.
#[must_use]
pub fn is_in_child() -> bool {
    IS_IN_CHILD.load(Ordering::Relaxed)
}

static GENERATION: AtomicU32 = AtomicU32::new(0);

/// How many forks there were from the first process to this one: what notes another number was done by a thread of
/// another process, and will not be ended.
#[inline]
pub(crate) fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// Has these called from now on whenever the process forks.
pub fn register(handlers: Handlers) {
    let mut registered = REGISTERED.lock();
    #[cfg(unix)]
    if registered.is_empty() {
        // SAFETY: the functions live as long as the program.
        unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    }
    registered.push(handlers);
}

#[cfg(unix)]
extern "C" fn before() {
    let registered = REGISTERED.lock();
    let mut held: Vec<Held> = Vec::new();
    registered.iter().rev().for_each(|handlers| (handlers.hold)(&mut held));
    held.push(Box::new(registered));
    // SAFETY: no other thread forks meanwhile.
    unsafe { *HELD.0.get() = held };
}

#[cfg(unix)]
extern "C" fn in_parent() {
    // SAFETY: no other thread forks meanwhile, and `before` has run.
    let mut held = unsafe { std::mem::take(&mut *HELD.0.get()) };
    // In the reverse order.
    while held.pop().is_some() {}
}

#[cfg(unix)]
extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    IS_IN_CHILD.store(true, Ordering::Relaxed);
    in_parent();
    IS_IN_CHILD.store(false, Ordering::Relaxed);
    let handlers = REGISTERED.lock().clone();
    handlers.iter().for_each(|handlers| (handlers.reset)());
}
