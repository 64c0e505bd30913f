//! Partitioning the graph into kernels.
//!
//! Values that are written to memory are grouped by stage, by the number of lanes and by the blocks of lanes that are
//! reduced. Each group is one kernel, which recomputes everything that it needs and that is not in memory; so several
//! kernels may compute the same value. A value that is expensive to recompute is written by the first kernel that has
//! it and read by the later ones.
//!
//! A write in place runs in one kernel only. Other kernels may recompute such a loop for the per-lane local memory in
//! its state, without the states that it writes.

use jit_runtime::{Error, ErrorKind};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::effect::Shared;
use super::order::{Entry, Graph, NONE, uses};
use super::pieces;
use super::selected::Selection;
use crate::graph::cost::EXPENSIVE;
use crate::graph::op::Op;
use crate::size::extent::Extent;
use crate::trace::local;

/// The number of stages from whose results a value of one lane is computed before it is written, for later kernels.
const CHAIN: usize = 4;
/// The number of operations of one lane that are computed again.
const MAX_SCALAR: usize = 256;

/// One kernel.
pub(super) struct Group {
    pub(super) stage: u32,
    pub(super) lanes: Extent,
    /// Whether the kernel copies entire arrays, even if only some lanes are computed.
    pub(super) is_copying: bool,
    /// The lanes that are reduced together, if any are: 0 for all.
    reduced: Option<usize>,
    /// The entries that it writes, in ascending order.
    pub(super) roots: Vec<u32>,
    /// The entries that it computes or reads, operands first.
    pub(super) order: Vec<u32>,
    /// The loops and scatters whose writes in place belong to this kernel, unless all do.
    writers: Option<FxHashSet<u32>>,
}

/// Returns the kernels of a graph, in execution order.
///
/// # Errors
///
/// When a later kernel would have to recompute per-lane local memory, and with it the results of scatters.
pub(super) fn groups(graph: &mut Graph<'_>) -> Result<Vec<Group>, Error> {
    let (mut groups, mut added) = partition(graph);
    if pieces::cut(graph, &groups) {
        (groups, added) = partition(graph);
    }
    for (number, stage) in added {
        let entry = &mut graph.entries[number as usize];
        (entry.is_root, entry.stage) = (true, stage);
    }
    check_scatters(graph, &groups)?;
    Ok(groups)
}

/// Returns the kernels of a graph, in execution order, and the values that are written besides the roots, each with the
/// stage of the kernel that does it.
fn partition(graph: &Graph<'_>) -> (Vec<Group>, Vec<(u32, u32)>) {
    let (mut groups, has_empty) = by_stage_and_lanes(graph);
    if let ([only], true) = (&mut groups[..], graph.natives.is_empty() && !has_empty) {
        only.order = (0..graph.entries.len() as u32).collect();
        return (groups, Vec::new());
    }
    if !graph.effects.is_empty() {
        groups.iter_mut().for_each(|group| group.writers = Some(writers(graph, &group.roots)));
    }
    groups.sort_by_key(|group| group.stage);
    let added = Cut::new(graph, &groups).run(&mut groups);
    (groups, added)
}

/// Returns the loops and scatters that write the arrays among some roots.
fn writers(graph: &Graph<'_>, roots: &[u32]) -> FxHashSet<u32> {
    let mut writers = FxHashSet::default();
    let mut arrays: Vec<u32> = roots.to_vec();
    while let Some(array) = arrays.pop() {
        let Entry { op, memory, operands: [writer, ..], .. } = graph.entries[array as usize];
        if memory == NONE || !matches!(op, Op::LoopResult | Op::ScatterResult) || !writers.insert(writer) {
            continue;
        }
        let control = graph.entries[writer as usize].control as usize;
        if op == Op::ScatterResult {
            arrays.extend(graph.effects[control].before());
        } else {
            let shared = graph.controls[control].shared.iter();
            arrays.extend(shared.flat_map(|shared| [shared.previous, shared.next]).filter(|&array| array != NONE));
        }
    }
    writers
}

/// Rejects scatters that several kernels would run.
fn check_scatters(graph: &Graph<'_>, groups: &[Group]) -> Result<(), Error> {
    if graph.effects.is_empty() {
        return Ok(());
    }
    let mut run = FxHashSet::default();
    for group in groups {
        let scatters = group.order.iter().filter(|&&number| graph.entries[number as usize].op == Op::Scatter);
        if let Some(&twice) = scatters.copied().find(|scatter| !run.insert(*scatter)).as_ref() {
            let site = graph.entries[twice as usize].var.site();
            let text = "per-lane local memory depends on the result of a scatter, and several kernels need it";
            return Err(Error::new(ErrorKind::NotEvaluated, text).at(site).with_hint(
                "a scatter runs once: read the elements of the `Local` before the first of these kernels, \
                    or evaluate less at once",
            ));
        }
    }
    Ok(())
}

impl Group {
    fn new(stage: u32, lanes: Extent, is_copying: bool) -> Group {
        Group { stage, lanes, is_copying, reduced: None, roots: Vec::new(), order: Vec::new(), writers: None }
    }

    /// Returns whether the kernel runs on some of its lanes.
    pub(super) fn is_selected(&self, selection: &Selection) -> bool {
        self.lanes.lanes as usize == selection.width && !self.is_copying
    }

    /// Returns the blocks of lanes that the kernel reduces.
    pub(super) fn reduce_block(&self) -> Option<Extent> {
        self.reduced.filter(|&block| block != 0).map(Extent::from_position)
    }

    /// Returns whether the writes in place of a loop or scatter belong to the kernel.
    fn writes(&self, number: u32) -> bool {
        self.writers.as_ref().is_none_or(|writers| writers.contains(&number))
    }

    /// Returns the states in memory of a loop that the kernel writes.
    pub(super) fn shared<'g>(&self, graph: &'g Graph<'_>, number: u32) -> &'g [Shared] {
        let control = graph.entries[number as usize].control as usize;
        if self.writes(number) { &graph.controls[control].shared } else { &[] }
    }

    /// Returns whether a root may be written by the same launch as the others.
    fn takes(&self, stage: u32, lanes: Extent, reduced: Option<usize>, is_copying: bool) -> bool {
        let is_one_division = self.reduced.is_none() || reduced.is_none() || self.reduced == reduced;
        self.stage == stage && self.lanes == lanes && is_one_division && self.is_copying == is_copying
    }
}

/// Where the groups of each stage and number of lanes are, in their order.
type Places = FxHashMap<(u32, Extent), SmallVec<[u32; 2]>>;

/// Returns the roots of each kernel, and whether there are roots without lanes, which no kernel computes.
fn by_stage_and_lanes(graph: &Graph<'_>) -> (Vec<Group>, bool) {
    let entries = &graph.entries;
    let mut groups: Vec<Group> = Vec::with_capacity(2);
    let (mut places, mut has_empty) = (Places::default(), false);
    for (number, entry) in entries.iter().enumerate() {
        if !entry.is_root || entry.is_evaluated || entry.op == Op::LibraryResult {
            continue;
        }
        let (stage, lanes) = (entry.stage, entry.lanes(entries).representative());
        if lanes.lanes == 0 {
            has_empty = true;
            continue;
        }
        let block = || Extent::from_position(entry.var.position()).representative().into_position();
        let reduced = matches!(entry.op, Op::Reduce(_)).then(block);
        let is_copying = entry.is_copy && graph.selection.is_some();
        let same = places.entry((stage, lanes)).or_default();
        let takes = |&&at: &&u32| groups[at as usize].takes(stage, lanes, reduced, is_copying);
        match same.iter().find(takes) {
            Some(&at) => {
                let group = &mut groups[at as usize];
                group.roots.push(number as u32);
                group.reduced = group.reduced.or(reduced);
            }
            None => {
                same.push(groups.len() as u32);
                let roots = vec![number as u32];
                groups.push(Group { reduced, roots, ..Group::new(stage, lanes, is_copying) });
            }
        }
    }
    (groups, has_empty)
}

/// Finds the entries of each of several kernels.
struct Cut<'a, 'e> {
    graph: &'a Graph<'e>,
    /// For each entry that is written, the stage after which it can be read.
    written: Vec<u32>,
    /// For each entry, the first group that computes it.
    first: Vec<u32>,
    /// For each entry, the last group that visited it.
    seen: Vec<u32>,
    /// Whether a kernel changes arrays that another one of its stage may read.
    writes_in_place: bool,
    places: Places,
    /// Entries that are written because several kernels need them, and the stage of the kernel that does it.
    added: Vec<(u32, u32)>,
}

impl<'a, 'e> Cut<'a, 'e> {
    fn new(graph: &'a Graph<'e>, groups: &[Group]) -> Self {
        let mut places = Places::default();
        for (group, at) in groups.iter().zip(0..) {
            places.entry((group.stage, group.lanes)).or_default().push(at);
        }
        let stage = |entry: &Entry<'_>| if entry.is_root && !entry.is_evaluated { entry.stage } else { NONE };
        let written = graph.entries.iter().map(stage).collect();
        let count = graph.entries.len();
        let (first, seen) = (vec![NONE; count], vec![NONE; count]);
        Cut { graph, written, first, seen, writes_in_place: graph.writes_in_place(), places, added: Vec::new() }
    }

    fn run(mut self, groups: &mut Vec<Group>) -> Vec<(u32, u32)> {
        let mut current = 0;
        while current < groups.len() {
            let roots = groups[current].roots.clone();
            let mut stack: Vec<(u32, bool)> = roots.into_iter().rev().map(|root| (root, false)).collect();
            let mut order = Vec::new();
            while let Some((number, is_done)) = stack.pop() {
                if is_done {
                    order.push(number);
                } else if std::mem::replace(&mut self.seen[number as usize], current as u32) != current as u32 {
                    stack.push((number, true));
                    self.visit(groups, current, number, &mut stack);
                }
            }
            groups[current].order = order;
            current += 1;
        }
        groups.iter_mut().for_each(|group| group.roots.sort_unstable());
        // Those that were added on the way are at the end.
        groups.sort_by_key(|group| group.stage);
        self.added
    }

    fn visit(&mut self, groups: &mut Vec<Group>, current: usize, number: u32, stack: &mut Vec<(u32, bool)>) {
        if self.is_read_back(groups[current].stage, number) {
            return;
        }
        let first = self.first[number as usize];
        if first == NONE {
            self.first[number as usize] = current as u32;
        } else if self.is_worth_writing(&groups[first as usize], groups[current].stage, number) {
            let writer = self.writer(groups, first, current, number);
            self.written[number as usize] = writer.stage;
            writer.roots.push(number);
            self.added.push((number, writer.stage));
            return;
        }
        let operands = lane_operands(self.graph, number);
        if self.graph.entries[number as usize].op == Op::Loop && !groups[current].writes(number) {
            let shared = &self.graph.controls[self.graph.entries[number as usize].control as usize].shared;
            let is_array = |operand: &u32| shared.iter().any(|shared| [shared.previous, shared.next].contains(operand));
            stack.extend(operands.rev().filter(|operand| !is_array(operand)).map(|operand| (operand, false)));
        } else {
            stack.extend(operands.rev().map(|operand| (operand, false)));
        }
    }

    fn is_read_back(&self, stage: u32, number: u32) -> bool {
        let written = self.written[number as usize];
        self.graph.entries[number as usize].is_evaluated || (written != NONE && written < stage)
    }

    /// Returns whether an earlier kernel should write a value that it computes anyway.
    fn is_worth_writing(&self, writer: &Group, stage: u32, number: u32) -> bool {
        let entry = &self.graph.entries[number as usize];
        let is_value = entry.region.get() == 0
            && !matches!(entry.op, Op::Loop | Op::Branch | Op::Switch | Op::Param | Op::Scatter)
            && !local::is_local(entry.var);
        is_value
            && writer.stage < stage
            && match writer.lanes == entry.var.extent().representative() {
                true => self.is_expensive(stage, number),
                false => !self.writes_in_place && entry.var.lanes() == 1 && self.is_chain(stage, number),
            }
    }

    /// Returns the kernel that writes a value which a kernel computes first: that one, or one of as few lanes.
    fn writer<'g>(&mut self, groups: &'g mut Vec<Group>, first: u32, current: usize, number: u32) -> &'g mut Group {
        let lanes = self.graph.entries[number as usize].var.extent().representative();
        let Group { stage, is_copying, .. } = groups[first as usize];
        if groups[first as usize].lanes == lanes {
            return &mut groups[first as usize];
        }
        let same = self.places.entry((stage, lanes)).or_default();
        let takes = |&at: &u32| at as usize > current && groups[at as usize].takes(stage, lanes, None, is_copying);
        let at = same.iter().copied().find(takes).unwrap_or_else(|| {
            let at = groups.len() as u32;
            groups.push(Group::new(stage, lanes, is_copying));
            same.push(at);
            at
        });
        &mut groups[at as usize]
    }

    /// Returns whether what a kernel must do to compute a value again costs more than writing and reading it: it takes
    /// many operations, or reads more than is written and read otherwise. What is written is fetched into the cache
    /// first.
    fn is_expensive(&self, stage: u32, number: u32) -> bool {
        let once = self.graph.entries[number as usize].var.ty().size_bytes();
        let (mut work, mut read) = (0, 0);
        let is_expensive = |work: u32, read: usize| work >= EXPENSIVE || read > 3 * once;
        self.behind(stage, number, |entry, is_read| {
            match is_read {
                true if entry.var.lanes() == 1 => {}
                true => read += entry.var.ty().size_bytes(),
                false => work += entry.op.weight(),
            }
            !is_expensive(work, read)
        });
        is_expensive(work, read)
    }

    /// Returns whether a value is computed from the results of kernels of several stages, as is a parameter after some
    /// steps of a descent. Each later kernel would compute it from all of them, and differ from all others. It is the
    /// number of stages that counts, and not the cost, so that all such values of a program are written in the same
    /// steps, and the same kernels repeat.
    fn is_chain(&self, stage: u32, number: u32) -> bool {
        let (mut stages, mut count) = (SmallVec::<[u32; CHAIN]>::new(), 0);
        self.behind(stage, number, |entry, is_read| {
            if is_read && !entry.is_evaluated && !stages.contains(&entry.stage) {
                stages.push(entry.stage);
            }
            count += 1;
            stages.len() < CHAIN && count < MAX_SCALAR
        });
        stages.len() >= CHAIN || count >= MAX_SCALAR
    }

    /// Visits the entries that a kernel of some stage must compute, or read, to compute a value again, each once, until
    /// the visitor returns false.
    fn behind(&self, stage: u32, number: u32, mut visit: impl FnMut(&Entry<'_>, bool) -> bool) {
        let (mut seen, mut next) = (vec![number], 0);
        while next < seen.len() {
            let number = seen[next];
            next += 1;
            let is_read = self.is_read_back(stage, number);
            if !visit(&self.graph.entries[number as usize], is_read) {
                return;
            }
            if !is_read {
                for operand in lane_operands(self.graph, number) {
                    if !seen.contains(&operand) {
                        seen.push(operand);
                    }
                }
            }
        }
    }
}

/// Returns the per-lane operands of an entry: all but the source of a gather.
pub(super) fn lane_operands(graph: &Graph<'_>, number: u32) -> impl DoubleEndedIterator<Item = u32> + use<> {
    let skipped = usize::from(graph.entries[number as usize].op == Op::Gather);
    uses(graph, number).into_iter().skip(skipped)
}

/// Returns whether a kernel reads the value of an entry from memory, or knows it.
pub(super) fn is_leaf(graph: &Graph<'_>, group: &Group, number: u32) -> bool {
    let entry = &graph.entries[number as usize];
    entry.is_evaluated || (entry.is_root && entry.stage < group.stage)
}
