//! Small launches, which run at once on the calling thread, without a task and without registration.
//!
//! Marks in the state words of the buffers exclude other accesses for these few microseconds, see `order`. If a mark
//! cannot be set, because a launch before this one is not done, or has failed to write a buffer that this one
//! overwrites, the launch is queued like any other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::clock::Moment;
use crate::float_mode::Standard;
use crate::machine::Access;
use crate::memory::failure::Failure;
use crate::{Error, Label, Site};

/// Runs a small launch if no other launch conflicts. Returns the nanoseconds that it took.
///
/// # Safety
///
/// The function must access the buffers as stated, and nothing else that other threads access.
pub(super) unsafe fn try_run<'a>(
    accesses: impl Iterator<Item = Access<'a>> + Clone,
    run: impl FnOnce() -> Result<(), Error>,
    label: Label,
    site: Option<Site>,
) -> Option<Result<u64, Error>> {
    let marks = Marks::take(accesses)?;
    let _mode = Standard::enter();
    let started = Moment::now();
    let outcome = catch_unwind(AssertUnwindSafe(run));
    let elapsed = started.elapsed_ns();
    Some(match Failure::of(outcome, label, site) {
        None => Ok(elapsed),
        Some(failure) => Err(marks.fail(&failure)),
    })
}

/// The marks on the buffers of a launch, which are removed on drop.
struct Marks<'a, I: Iterator<Item = Access<'a>> + Clone> {
    accesses: I,
    /// The number of buffers, from the first on, that are marked.
    taken: usize,
}

impl<'a, I: Iterator<Item = Access<'a>> + Clone> Marks<'a, I> {
    /// All marks, or none.
    fn take(accesses: I) -> Option<Self> {
        // Incremented with each mark, so that the drop removes those set before a failure.
        let mut marks = Marks { accesses: accesses.clone(), taken: 0 };
        for Access { buffer, writes } in accesses {
            let state = buffer.accesses();
            let is_free = if writes { state.try_begin_write() } else { state.try_begin_read() };
            if !is_free {
                return None;
            }
            marks.taken += 1;
        }
        Some(marks)
    }

    fn each(&self) -> impl Iterator<Item = Access<'a>> {
        self.accesses.clone().take(self.taken)
    }

    /// Records a failure at all buffers that should have been written.
    fn fail(&self, failure: &Arc<Failure>) -> Error {
        self.each().filter(|access| access.writes).for_each(|access| access.buffer.accesses().fail(failure));
        failure.report()
    }
}

impl<'a, I: Iterator<Item = Access<'a>> + Clone> Drop for Marks<'a, I> {
    fn drop(&mut self) {
        for Access { buffer, writes } in self.each() {
            if writes {
                buffer.accesses().end_write();
            } else {
                buffer.accesses().end_read();
            }
        }
    }
}
