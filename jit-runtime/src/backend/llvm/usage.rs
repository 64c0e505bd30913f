//! Who uses LLVM at the moment, so that nobody does when the process ends or after a fork that interrupted somebody.
//!
//! The end of a process (`exit`, or the return of `main`) runs the destructors of libLLVM's global objects while other
//! threads go on. So a function is called before them that lets no thread into LLVM any more and waits for those that
//! are in it; what is evaluated from then on, in other such functions for example, is interpreted. A kernel that takes
//! too long is not waited for: the process is then ended without destructors, with its streams written and its status
//! kept.
//!
//! A forked process has a copy of LLVM. If another thread was in it at that moment the copy is of no use: kernels are
//! interpreted, and no destructor of it may run.

use std::cell::Cell;
use std::sync::Once;
use std::time::Duration;

use crate::error::{Error, ErrorKind};
use crate::fork::{self, Handlers, Held};
use crate::log::{self, Level};
use crate::sync::{Condvar, Mutex, persist};

/// How long the end of the process waits for kernels that are being compiled.
const PATIENCE: Duration = Duration::from_secs(20);

struct State {
    /// How many threads are in LLVM, counted as often as they entered.
    inside: usize,
    closed: Option<Closed>,
}

/// Why nobody is let in any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Closed {
    /// The process ends.
    Exit,
    /// The process was forked while another thread of the first one was in LLVM.
    Fork,
}

static STATE: Mutex<State> = Mutex::new(State { inside: 0, closed: None });
static CHANGED: Condvar = Condvar::new();

thread_local! {
    /// How often this thread has entered.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// While it lives, the code and the data of LLVM are there.
#[derive(Debug)]
pub(super) struct Inside(());

/// Begins to use LLVM.
///
/// # Errors
///
/// `NoDevice` if nobody may any more.
pub(super) fn enter() -> Result<Inside, Error> {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| fork::register(Handlers { hold, reset }));
    let mut state = STATE.lock();
    match state.closed {
        // Who is in it may continue with what it began.
        Some(closed) if DEPTH.get() == 0 => Err(refused(closed)),
        _ => {
            state.inside += 1;
            DEPTH.set(DEPTH.get() + 1);
            Ok(Inside(()))
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        STATE.lock().inside -= 1;
        CHANGED.notify_all();
    }
}

/// Whether LLVM may be used.
pub(super) fn is_open() -> bool {
    STATE.lock().closed.is_none()
}

#[cold]
fn refused(closed: Closed) -> Error {
    let why = match closed {
        Closed::Exit => "the process is about to end",
        Closed::Fork => "the process was forked while another thread compiled",
    };
    Error::new(ErrorKind::NoDevice, format!("no code is generated any more: {why}"))
}

fn hold(held: &mut Vec<Held>) {
    held.extend(persist(|| STATE.try_lock()).map(|guard| Box::new(guard) as Held));
}

/// In a forked process: only the thread that forked is there.
fn reset() {
    let mut state = STATE.lock();
    let was_interrupted = state.inside > DEPTH.get();
    state.inside = DEPTH.get();
    if was_interrupted && state.closed.is_none() {
        state.closed = Some(Closed::Fork);
        drop(state);
        log::emit(Level::Warn, || format!("kernels are interpreted, which is slow: {}", refused(Closed::Fork)));
    }
}

/// Has the end of the process wait for those who use LLVM. Functions that are registered later run earlier: this is
/// called after each step that makes LLVM register destructors.
pub(super) fn guard_exit() {
    // SAFETY: the function lives as long as the program. Where no place is left for it, it is not called.
    unsafe { exit::register() };
}

/// Lets nobody in any more, and waits for those who are. Whether all have left.
fn close() -> bool {
    let mut state = STATE.lock();
    let before = *state.closed.get_or_insert(Closed::Exit);
    if before == Closed::Fork {
        return false;
    }
    // A function of LLVM that ends the process, because of a failure that it cannot report, waits for nobody.
    let own = DEPTH.get();
    CHANGED.wait_while_for(state, PATIENCE, |state| state.inside > own).inside <= own && own == 0
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod exit {
    use std::ffi::{c_int, c_void};

    unsafe extern "C" {
        /// As `atexit`, of a function that receives the status.
        fn on_exit(run: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    }

    pub(super) unsafe fn register() {
        // SAFETY: the caller's promise.
        unsafe { on_exit(before_destructors, std::ptr::null_mut()) };
    }

    extern "C" fn before_destructors(status: c_int, _: *mut c_void) {
        if !super::close() {
            // SAFETY: a null pointer means all streams; what follows in the list must not run.
            unsafe {
                libc::fflush(std::ptr::null_mut());
                libc::_exit(status);
            }
        }
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod exit {
    pub(super) unsafe fn register() {
        // SAFETY: the caller's promise.
        unsafe { libc::atexit(before_destructors) };
    }

    extern "C" fn before_destructors() {
        super::close();
    }
}
