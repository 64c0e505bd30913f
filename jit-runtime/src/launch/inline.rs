//! Small launches: run at once on the calling thread, with no task and no registration.
//!
//! Marks in the state words of the buffers keep others away for these few microseconds, see `order`. Where a mark cannot be had,
//! because a launch before this one is not done, the launch is queued like any other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use crate::cache::ParamFacts;
use crate::stats::{self, Time};
use crate::{Error, cache::Entry};

use super::failure::Failure;
use super::run::Bound;
use super::{Argument, Ready};

/// Runs a launch if nothing stands in its way.
pub(super) fn try_run(ready: &Ready, bound: &Bound) -> Option<Result<(), Error>> {
    let marks = Marks::take(ready)?;
    let started = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the arguments were checked; the marks keep conflicting accesses away; all lanes are run before the end.
        unsafe {
            bound.run(&ready.entry, 0..ready.width as u64);
            bound.finish();
        }
    }));
    let elapsed = started.elapsed().as_nanos() as u64;
    if let Err(payload) = outcome {
        return Some(Err(marks.fail(&Failure::from_panic(&*payload, ready.label, ready.site))));
    }
    drop(marks);
    ready.entry.cost.learn(ready.width, elapsed);
    stats::count_busy(elapsed);
    stats::record(|| ready.record(Time::Done(elapsed)));
    Some(Ok(()))
}

/// The marks at the buffers of a launch; taken away when dropped.
struct Marks<'a> {
    entry: &'a Entry,
    arguments: &'a [Argument],
}

impl<'a> Marks<'a> {
    /// All marks, or none.
    fn take(ready: &'a Ready) -> Option<Marks<'a>> {
        // Grows with each mark, so that those taken before a failure are given back by the drop.
        let mut marks = Marks { entry: &ready.entry, arguments: &[] };
        for (taken, (param, argument)) in ready.entry.facts.params.iter().zip(&ready.arguments).enumerate() {
            if let Argument::Buffer(buffer, _) = argument {
                let accesses = buffer.accesses();
                let is_free = if param.writes { accesses.try_begin_write() } else { accesses.try_begin_read() };
                if !is_free {
                    return None;
                }
            }
            marks.arguments = &ready.arguments[..=taken];
        }
        Some(marks)
    }

    fn each(&self) -> impl Iterator<Item = (&ParamFacts, &Argument)> {
        self.entry.facts.params.iter().zip(self.arguments)
    }

    /// Notes a failure at all buffers that should have been written.
    fn fail(&self, failure: &std::sync::Arc<Failure>) -> Error {
        for (param, argument) in self.each() {
            if let (true, Argument::Buffer(buffer, _)) = (param.writes, argument) {
                buffer.accesses().fail(failure);
            }
        }
        failure.report()
    }
}

impl Drop for Marks<'_> {
    fn drop(&mut self) {
        for (param, argument) in self.each() {
            if let Argument::Buffer(buffer, _) = argument {
                if param.writes {
                    buffer.accesses().end_write();
                } else {
                    buffer.accesses().end_read();
                }
            }
        }
    }
}
