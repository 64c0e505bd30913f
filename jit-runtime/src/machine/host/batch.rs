//! Runs several small launches one after another, and registers their accesses with other launches only once.
//!
//! Launches whose lanes are independent of each other are run in *tiles*: all launches run on some lanes, then all of
//! them on the next ones. Tiles are shared with idle threads, so no thread waits for another one between two launches.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxHashMap;

use super::{inline, pool, run, team};
use crate::backend::{RawArgument, Scatters};
use crate::cache::Entry;
use crate::cache::cost::{Division, Estimate};
use crate::cancel::{Poll, Token};
use crate::stats::{self, Observers, Planned, WatchedBatch};
use crate::{Error, Label, Site};

pub(crate) use crate::machine::Access;

/// One launch of a batch.
pub(crate) struct Member {
    pub(crate) entry: Arc<Entry>,
    pub(crate) width: usize,
    pub(crate) reduce_block: Option<usize>,
    /// The range of its arguments in the table.
    pub(crate) arguments: Range<usize>,
    /// Launches that may be run together in tiles have the same number; none if it is run as a whole.
    pub(crate) tile: Option<u32>,
    pub(crate) label: Label,
    pub(crate) site: Option<Site>,
}

impl Member {
    /// The launch as a profile notes it.
    fn watched(&self, stretch: &Stretch, table: &[RawArgument]) -> stats::Member<'_> {
        let elements = table[self.arguments.clone()].iter().map(|argument| argument.length as usize);
        stats::Member {
            facts: &self.entry.facts,
            label: self.label,
            site: self.site,
            width: self.width,
            traffic: self.entry.facts.traffic(self.width, elements),
            share: match stretch.range.len() {
                1 => 1.0,
                _ => self.entry.cost.estimate(self.width).ns() / stretch.estimate.ns().max(1.0),
            },
        }
    }
}

/// The positions of the launches to run, and what statistics count for them.
#[derive(Default)]
pub(crate) struct Run {
    /// Positions among the members.
    positions: Vec<u32>,
    stretches: Vec<Stretch>,
    planned: Option<Planned>,
    /// The kernels, each once, with its share of the time.
    kernels: Vec<(Arc<Entry>, f64)>,
    /// Whether the running time of each of them is already known.
    is_settled: AtomicBool,
}

/// Consecutive launches that are run in tiles, or a single one that is not.
struct Stretch {
    /// Among the positions.
    range: Range<usize>,
    is_tiled: bool,
    width: usize,
    lanes_per_step: usize,
    estimate: Estimate,
}

impl Stretch {
    fn new(members: &[Member], positions: &[u32], range: Range<usize>) -> Stretch {
        let each = || positions[range.clone()].iter().map(|&at| &members[at as usize]);
        let first = &members[positions[range.start] as usize];
        Stretch {
            is_tiled: first.tile.is_some(),
            width: first.width,
            lanes_per_step: each().map(|member| member.entry.facts.lanes_per_step).max().unwrap_or(1),
            estimate: Estimate::sum(each().map(|member| member.entry.cost.estimate(member.width))),
            range,
        }
    }

    /// How the lanes are divided, if that is worthwhile.
    fn division(&self) -> Option<Division> {
        let threads = pool::threads();
        if !self.is_tiled || threads == 1 || self.estimate.is_small() {
            return None;
        }
        Some(Division::of_lanes(self.width, self.estimate, self.lanes_per_step, threads))
    }
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
            preparation: stats::Preparation::none(stats::CacheOutcome::Recording),
            time: stats::Time::Done(0),
        });
        let planned = Some(Planned::new(planned.collect()));
        let tile = |position: usize| members[positions[position] as usize].tile;
        let mut stretches: Vec<Range<usize>> = Vec::new();
        for position in 0..positions.len() {
            match stretches.last_mut() {
                Some(last) if tile(position).is_some() && tile(position) == tile(last.start) => last.end += 1,
                _ => stretches.push(position..position + 1),
            }
        }
        let stretches = stretches.into_iter().map(|range| Stretch::new(members, &positions, range)).collect();
        let kernels = shares(positions.iter().map(|&at| &members[at as usize]));
        Run { positions, stretches, planned, kernels, is_settled: AtomicBool::new(false) }
    }

    /// Records how long all launches took.
    fn ran(&self, elapsed_ns: u64) {
        if self.is_settled.load(Ordering::Relaxed) {
            return;
        }
        for (entry, share) in &self.kernels {
            entry.ran((elapsed_ns as f64 * share) as u64);
        }
        self.is_settled.store(self.kernels.iter().all(|(entry, _)| entry.is_settled()), Ordering::Relaxed);
    }

    /// The number of launches.
    pub(crate) fn count(&self) -> usize {
        self.positions.len()
    }
}

/// The kernels of the launches, each once, with its share of the time.
fn shares<'m>(members: impl Iterator<Item = &'m Member>) -> Vec<(Arc<Entry>, f64)> {
    let mut kernels: Vec<(Arc<Entry>, f64)> = Vec::new();
    let mut position_of: FxHashMap<*const Entry, usize> = FxHashMap::default();
    let mut total = 0.0;
    for Member { entry, width, .. } in members {
        let position = *position_of.entry(Arc::as_ptr(entry)).or_insert(kernels.len());
        if position == kernels.len() {
            kernels.push((Arc::clone(entry), 0.0));
        }
        let ns = entry.cost.estimate(*width).ns();
        kernels[position].1 += ns;
        total += ns;
    }
    kernels.iter_mut().for_each(|(_, share)| *share /= f64::max(total, 1.0));
    kernels
}

/// Runs launches in their order, if no other launch conflicts. Returns the nanoseconds that they took.
///
/// # Safety
///
/// The arguments of each member must fit its code and launch, as for a launch that was checked. The code must access
/// the buffers as stated, and nothing else that other threads access. Among members of one tile, no lane may access
/// elements that another lane writes.
pub(crate) unsafe fn try_run<'a>(
    accesses: impl Iterator<Item = Access<'a>> + Clone,
    members: &[Member],
    run: &Run,
    table: &[RawArgument],
) -> Option<Result<u64, Error>> {
    let Some(first) = run.positions.first().map(|&at| &members[at as usize]) else { return Some(Ok(0)) };
    let token = Token::current();
    let observers = Observers::now();
    let all = || {
        token.check(first.label, first.site)?;
        let mut watched = if observers.are_profiling() { Some(WatchedBatch::new()) } else { None };
        for stretch in &run.stretches {
            let each = || run.positions[stretch.range.clone()].iter().map(|&at| &members[at as usize]);
            match stretch.division() {
                // SAFETY: guaranteed by the caller, for members of one tile.
                Some(division) => unsafe { run_tiles(division, &each, table, token.poll()) },
                None => each().try_for_each(|member| {
                    // SAFETY: guaranteed by the caller; the launches run one after another.
                    unsafe { run_one(member, &table[member.arguments.clone()], token.poll())? };
                    token.check(member.label, member.site)
                })?,
            }
            if let Some(watched) = &mut watched {
                watched.ran(each().map(|member| member.watched(stretch, table)), stretch.range.len() > 1);
            }
        }
        token.check(first.label, first.site)
    };
    // SAFETY: the caller's promise.
    let outcome = unsafe { inline::try_run(accesses, all, first.label, first.site) }?;
    if let Ok(elapsed) = &outcome {
        stats::count_busy(*elapsed);
        run.ran(*elapsed);
        run.planned.iter().for_each(|planned| stats::count_replayed(planned, observers));
    }
    Some(outcome)
}

/// Runs all launches on some lanes, then on the next ones, in parallel on several threads.
///
/// # Safety
///
/// As for [`try_run`], of members of one tile.
unsafe fn run_tiles<'m, I: Iterator<Item = &'m Member>>(
    division: Division,
    members: &(impl Fn() -> I + Sync),
    table: &[RawArgument],
    poll: Poll<'_>,
) {
    team::share(division.blocks, &|tile| {
        if poll.is_cancelled() {
            return;
        }
        for Member { entry, arguments, width, .. } in members() {
            // SAFETY: guaranteed by the caller. Each tile runs once, and a lane reads results of another launch only
            // within its tile.
            unsafe { run::run_lanes(entry, *width, division.units(tile), &table[arguments.clone()], poll) };
        }
    });
}

/// # Safety
///
/// As for [`try_run`], of one launch.
unsafe fn run_one(member: &Member, raw: &[RawArgument], poll: Poll<'_>) -> Result<(), Error> {
    let Member { entry, width, reduce_block, .. } = member;
    if !entry.facts.reduces && entry.options.scatters == Scatters::Shared {
        if *width > 0 {
            // SAFETY: the caller's promise.
            unsafe { run::run_lanes(entry, *width, 0..*width as u64, raw, poll) };
        }
        return Ok(());
    }
    let bound = run::bind_raw(entry, *width, *reduce_block, raw.into())?;
    // SAFETY: guaranteed by the caller; all units are run before the function returns.
    unsafe {
        bound.run(entry, bound.all(), poll)?;
        (0..bound.merge_parts()).for_each(|part| bound.merge(part));
        bound.finish();
        bound.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::{Origin, find_or_compile};
    use crate::ir::{Access as Mode, Builder, MAX_REDUCE_CHUNK, ReduceOp, Type};
    use crate::memory::Buffer;

    #[test]
    fn a_reduction_of_a_batch_combines_its_parts() {
        for (device, width) in crate::tested_devices::all()
            .into_iter()
            .flat_map(|device| [1, 100, 3 * MAX_REDUCE_CHUNK + 5].map(|w| (device, w)))
        {
            let mut b = Builder::new();
            let [input, total] = [Mode::Read, Mode::Reduce].map(|mode| b.buffer(Type::U32, mode));
            let value = b.load(input);
            b.reduce(ReduceOp::Add, total, value);
            let origin = Origin { label: "sum".into(), site: None, literals: &[] };
            let entry = find_or_compile(device, b.finish(), Default::default(), origin).unwrap().entry;
            let numbers: Vec<u32> = (0..width as u32).collect();
            let [input, total] =
                [bytemuck::cast_slice(&numbers), &[0; 4]].map(|bytes| Buffer::from_bytes(bytes).unwrap());
            let table = [(&input, width), (&total, 1)]
                .map(|(buffer, length)| RawArgument { word: buffer.address(), length: length as u64 });
            let label = "sum".into();
            let members = [Member { entry, width, reduce_block: None, arguments: 0..2, tile: None, label, site: None }];
            let accesses = [Access { buffer: &input, writes: false }, Access { buffer: &total, writes: true }];
            let run = Run::new(&members, |_| true);
            // SAFETY: the buffers are as long as the code expects, and this thread has them alone.
            unsafe { try_run(accesses.into_iter(), &members, &run, &table) }.unwrap().unwrap();
            let mut sum = [0; 4];
            total.read(0, &mut sum).unwrap();
            assert_eq!(u32::from_le_bytes(sum), numbers.iter().sum::<u32>(), "{device}, {width} lanes");
        }
    }
}
