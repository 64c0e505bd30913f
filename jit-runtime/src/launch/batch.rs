//! Several small launches, one after another on the calling thread, in one go: what is to be ordered with other launches is marked once.

use std::sync::Arc;

use crate::Error;
use crate::cache::Entry;
use crate::memory::Buffer;
use crate::stats::{self, Record, Time};

use super::inline;
use super::run::{self, RawArguments};
use super::work::Access;

/// One launch of a batch.
pub(crate) struct Member<'a> {
    pub(crate) entry: &'a Arc<Entry>,
    pub(crate) width: usize,
    pub(crate) reduce_block: Option<usize>,
    pub(crate) raw: RawArguments,
    pub(crate) label: &'static str,
    pub(crate) site: Option<&'static std::panic::Location<'static>>,
}

/// The buffers of a batch.
pub(crate) struct Accessed<'a> {
    pub(crate) read: &'a [&'a Buffer],
    pub(crate) written: &'a [&'a Buffer],
}

/// Runs launches in their order, if nothing stands in their way.
///
/// # Safety
///
/// The arguments of each member fit its code and launch, as for a launch that was checked; the code accesses the buffers as stated, and
/// nothing else that others access. No buffer is in both lists.
pub(crate) unsafe fn try_run<'a>(
    accessed: &Accessed<'_>,
    members: impl Iterator<Item = Member<'a>> + Clone,
) -> Option<Result<(), Error>> {
    let reads = accessed.read.iter().map(|buffer| Access { buffer, writes: false });
    let writes = accessed.written.iter().map(|buffer| Access { buffer, writes: true });
    let first = members.clone().next()?;
    let run = || {
        for member in members.clone() {
            // SAFETY: the caller's promise; the launches run one after another.
            unsafe { run_one(member) }?;
        }
        Ok(())
    };
    // SAFETY: the caller's promise.
    let outcome = unsafe { inline::try_run(reads.chain(writes), run, first.label, first.site) }?;
    Some(outcome.map(|elapsed| note(elapsed, members)))
}

/// # Safety
///
/// As for [`try_run`], of one launch.
unsafe fn run_one(member: Member<'_>) -> Result<(), Error> {
    let Member { entry, width, reduce_block, raw, .. } = member;
    let bound = run::bind_raw(entry, width, reduce_block, raw)?;
    // SAFETY: the caller's promise; all units are run before the end.
    unsafe {
        bound.run(entry, bound.all())?;
        (0..bound.merge_parts()).for_each(|part| bound.merge(part));
        bound.finish();
        bound.check()
    }
}

fn note<'a>(elapsed: u64, members: impl Iterator<Item = Member<'a>>) {
    stats::count_busy(elapsed);
    stats::count_replayed(members.map(|member| {
        let Member { entry, width, label, site, .. } = member;
        let time = Time::Done(0);
        Record { facts: Arc::clone(&entry.facts), label, site, width, is_hit: true, time }
    }));
}
