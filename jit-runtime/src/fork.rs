//! Prepares the process for forks.
//!
//! The child has a copy of all memory and one thread, the one that called `fork`. A lock that another thread held would
//! be locked forever in the copy, and the data that it protects half changed. So the locks of the process are taken
//! before, in their order, and released after, on both sides. In the child the state of other threads is then repaired:
//! workers are started again, launches that were not done fail, and kernels that were being compiled are unclaimed.
//!
//! Each layer registers its locks. Those that are registered later are taken earlier, since a thread that holds a lock
//! may take those of lower layers. Only `fork` as a function of the C library is noticed. Data that another thread was
//! writing at that moment is half written, and reading it fails: see `generation`.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::sync::Mutex;

/// A lock that is held while the process forks.
pub type Held = Box<dyn Any>;

/// The actions of a part of the program when the process forks.
#[derive(Clone, Copy)]
pub struct Handlers {
    /// Takes its locks.
    pub hold: fn(&mut Vec<Held>),
    /// Called in the child, with all locks released.
    pub reset: fn(),
}

/// The registered handlers, the highest layer last.
static REGISTERED: Mutex<Vec<Handlers>> = Mutex::new(Vec::new());

/// The locks that are held between the two halves of a fork; only the forking thread accesses it.
struct Between(std::cell::UnsafeCell<Vec<Held>>);

// SAFETY: the list is accessed only by the handlers, and the C library runs those of one fork at a time.
unsafe impl Sync for Between {}

static HELD: Between = Between(std::cell::UnsafeCell::new(Vec::new()));

static IS_IN_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether a [`Held`] lock is being released in the child.
#[must_use]
pub fn is_in_child() -> bool {
    IS_IN_CHILD.load(Ordering::Relaxed)
}

static GENERATION: AtomicU32 = AtomicU32::new(0);

/// The number of forks between the first process and this one. Work that is marked with another number was done by a
/// thread of another process, and will not be completed.
#[inline]
pub(crate) fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// Registers handlers that are called whenever the process forks.
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
