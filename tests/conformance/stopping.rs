//! Programs that are stopped at any of their operations, by a panic that can be distinguished from all others.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

thread_local! {
    /// Operations until the program is stopped.
    pub(crate) static LEFT: Cell<u32> = const { Cell::new(u32::MAX) };
}

/// The payload of the panic that stops a program.
pub(crate) struct Stopped;

/// Stops the program at the right operation, without a message of the panic hook.
pub(crate) fn tick() {
    let left = LEFT.get() - 1;
    LEFT.set(left);
    if left == 0 {
        resume_unwind(Box::new(Stopped));
    }
}

/// Whether a program is stopped by [`tick`], and does not reach its end. Any other panic propagates.
pub(crate) fn is_stopped(program: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(program)) {
        Ok(()) => false,
        Err(payload) if payload.is::<Stopped>() => true,
        Err(payload) => resume_unwind(payload),
    }
}
