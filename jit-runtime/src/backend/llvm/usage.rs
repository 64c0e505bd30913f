//! Tracks uses of LLVM, so that there are none when the process ends, or after a fork that interrupted one.
//!
//! The end of a process (`exit`, or the return of `main`) runs the destructors of libLLVM's global objects while other
//! threads continue. So a function is called before them that blocks new uses of LLVM and waits for threads that are
//! using it. Evaluations from then on, for example in other such functions, are interpreted. A kernel that takes too
//! long is not waited for: the process is then ended without destructors, with its streams flushed and its status
//! preserved.
//!
//! A forked process has a copy of LLVM. If another thread was in it at that moment, the copy is unusable: kernels are
//! interpreted, and none of its destructors may run.

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
    /// The number of threads in LLVM; a thread counts as often as it entered.
    inside: usize,
    closed: Option<Closed>,
}

/// Why LLVM must not be entered any more.
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

/// While this value lives, the code and the data of LLVM are valid.
#[derive(Debug)]
pub(super) struct Inside(());

/// Begins to use LLVM.
///
/// # Errors
///
/// `NoDevice` if LLVM must not be entered any more.
pub(super) fn enter() -> Result<Inside, Error> {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| fork::register(Handlers { hold, reset }));
    let mut state = STATE.lock();
    match state.closed {
        // A thread that is already inside may finish its work.
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
    Error::new(ErrorKind::NoDevice, format!("code generation has ended: {why}"))
}

fn hold(held: &mut Vec<Held>) {
    held.extend(persist(|| STATE.try_lock()).map(|guard| Box::new(guard) as Held));
}

/// In a forked process only the thread that forked exists.
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

/// Makes the end of the process wait for uses of LLVM. Functions that are registered later run earlier, so this is
/// called after each step that makes LLVM register destructors. Those of steps that compile are omitted where that is
/// possible (`destructors`).
pub(super) fn guard_exit() {
    // SAFETY: the function lives as long as the program. If there is no room left for it, it is not called.
    unsafe { exit::register() };
}

/// Blocks new uses of LLVM, and waits for current ones. Returns whether all have ended.
fn close() -> bool {
    let mut state = STATE.lock();
    let before = *state.closed.get_or_insert(Closed::Exit);
    if before == Closed::Fork {
        return false;
    }
    // If a function of LLVM ends the process, because of a failure that it cannot report, this does not wait.
    let own = DEPTH.get();
    CHANGED.wait_while_for(state, PATIENCE, |state| state.inside > own).inside <= own && own == 0
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod exit {
    use std::ffi::{c_int, c_void};

    unsafe extern "C" {
        /// As `atexit`, for a function that receives the status.
        fn on_exit(run: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    }

    pub(super) unsafe fn register() {
        // SAFETY: the caller's promise.
        unsafe { on_exit(before_destructors, std::ptr::null_mut()) };
    }

    extern "C" fn before_destructors(status: c_int, _: *mut c_void) {
        if !super::close() {
            // SAFETY: a null pointer means all streams; later functions in the list must not run.
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
