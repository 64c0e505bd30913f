//! Several small launches, one after another on the calling thread, in one go: what is to be ordered with other launches is marked once.

use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

use crate::Error;
use crate::backend::{RawArgument, Scatters};
use crate::cache::Entry;
use crate::stats::{self, Planned};

use super::inline;
use super::run;
pub(crate) use super::work::Access;

/// One launch of a batch.
pub(crate) struct Member {
    pub(crate) entry: Arc<Entry>,
    pub(crate) width: usize,
    pub(crate) reduce_block: Option<usize>,
    /// Where its arguments stand in the table.
    pub(crate) arguments: Range<usize>,
    pub(crate) label: &'static str,
    pub(crate) site: Option<&'static Location<'static>>,
}

/// Which launches are run, and what statistics are told of them.
#[derive(Default)]
pub(crate) struct Run {
    /// Positions among the members.
    positions: Vec<u32>,
    planned: Option<Planned>,
}

impl Run {
    pub(crate) fn new(members: &[Member], is_run: impl Fn(usize) -> bool) -> Run {
        let positions: Vec<u32> = (0..members.len()).filter(|&at| is_run(at)).map(|at| at as u32).collect();
        let each = positions.iter().map(|&at| &members[at as usize]);
        let planned = each.map(|member| stats::Record {
            facts: Arc::clone(&member.entry.facts),
            label: member.label,
            site: member.site,
            width: member.width,
            is_hit: true,
            time: stats::Time::Done(0),
        });
        let planned = Some(Planned::new(planned.collect()));
        Run { positions, planned }
    }

    /// How many launches there are.
    pub(crate) fn count(&self) -> usize {
        self.positions.len()
    }
}

/// Runs launches in their order, if nothing stands in their way. Gives the nanoseconds that they took.
///
/// # Safety
///
/// The arguments of each member fit its code and launch, as for a launch that was checked; the code accesses the buffers as stated, and
/// nothing else that others access.
pub(crate) unsafe fn try_run<'a>(
    accesses: impl Iterator<Item = Access<'a>> + Clone,
    members: &[Member],
    run: &Run,
    table: &[RawArgument],
) -> Option<Result<u64, Error>> {
    let Some(first) = run.positions.first().map(|&at| &members[at as usize]) else { return Some(Ok(0)) };
    let all = || {
        for &at in &run.positions {
            let member = &members[at as usize];
            // SAFETY: the caller's promise; the launches run one after another.
            unsafe { run_one(member, &table[member.arguments.clone()]) }?;
        }
        Ok(())
    };
    // SAFETY: the caller's promise.
    let outcome = unsafe { inline::try_run(accesses, all, first.label, first.site) }?;
    if let Ok(elapsed) = &outcome {
        stats::count_busy(*elapsed);
        run.planned.iter().for_each(stats::count_replayed);
    }
    Some(outcome)
}

/// # Safety
///
/// As for [`try_run`], of one launch.
unsafe fn run_one(member: &Member, raw: &[RawArgument]) -> Result<(), Error> {
    let Member { entry, width, reduce_block, .. } = member;
    if !entry.facts.reduces && entry.options.scatters == Scatters::Shared {
        if *width > 0 {
            // SAFETY: the caller's promise.
            unsafe { entry.executable.run(0..*width as u64, raw) };
        }
        return Ok(());
    }
    let bound = run::bind_raw(entry, *width, *reduce_block, raw.into())?;
    // SAFETY: the caller's promise; all units are run before the end.
    unsafe {
        bound.run(entry, bound.all())?;
        (0..bound.merge_parts()).for_each(|part| bound.merge(part));
        bound.finish();
        bound.check()
    }
}
