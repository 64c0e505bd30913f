//! Cutting a long program of equal parts into pieces, each of which is a kernel.
//!
//! A `for` of the host that records some hundred equal steps would become one kernel with the operations of all of
//! them: it takes seconds to compile, and its code does not fit into any cache of the processor. Where few values are
//! alive between the steps, writing these and reading them again takes a small part of the time of a piece. And the
//! pieces are equal but for literals, so the same code serves all of them. What is written in between is temporary: its
//! memory is used again when the next piece has read it, and the nodes remain unevaluated.
//!
//! A piece ends where the fewest values are alive, within a window that begins after some work ([`PIECE`]). Programs
//! with a period are thus cut at the same place of it each time. Those without one are not cut.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use smallvec::SmallVec;

use super::group::{Group, is_leaf};
use super::order::{Entry, Graph, uses};
use crate::graph::cost::EXPENSIVE;
use crate::graph::node::flag;
use crate::graph::op::Op;
use crate::graph::payload::{Payload, RegionId};

/// The fewest nodes and the least work of a program that is cut; the work of an addition is 1.
const LONG: (usize, u32) = (256, 2048);
/// The least work of a piece: it takes much longer than a few values take to write and to read.
const PIECE: u32 = 512;
/// The most work of a piece. The end of a period that is shorter than the window between the two is found.
const LONGEST_PIECE: u32 = 3 * PIECE;
/// The most values that are written between two pieces.
const MAX_ALIVE: u32 = 8;
/// The part of the pieces that may be different.
const MOST_DIFFERENT: (usize, usize) = (2, 3);
/// Properties of values that cannot be written.
const EXCLUDED: u16 = flag::EFFECT | flag::LOCAL;

/// Cuts the graph, if one of its kernels is long and it consists of equal parts: values between two pieces are written,
/// and the later piece belongs to a later stage. Returns whether it is cut.
pub(super) fn cut(graph: &mut Graph<'_>, groups: &[Group]) -> bool {
    if graph.entries.len() < LONG.0 || graph.selection.is_some() || graph.writes_in_place() {
        return false;
    }
    let work_of = |number: &u32| work(&graph.entries[*number as usize]);
    if !groups.iter().any(|group| group.order.iter().map(work_of).sum::<u32>() >= LONG.1) {
        return false;
    }
    let order = Order::of(graph);
    let ends = order.ends(graph);
    let pieces = Pieces::new(graph, &order, &ends);
    let is_cut = pieces.are_equal(graph, &ends);
    if is_cut {
        pieces.separate(graph);
    }
    is_cut
}

/// Returns for each kernel the temporary values that no later one reads.
pub(super) fn released(graph: &Graph<'_>, groups: &[Group]) -> Vec<SmallVec<[u32; 2]>> {
    let mut released = vec![SmallVec::new(); groups.len()];
    if !graph.entries.iter().any(|entry| entry.is_temporary) {
        return released;
    }
    let mut last = FxHashMap::default();
    for (position, group) in groups.iter().enumerate() {
        let used = group.order.iter().filter(|&&number| is_leaf(graph, group, number)).chain(&group.roots);
        let temporary = used.filter(|&&number| graph.entries[number as usize].is_temporary);
        last.extend(temporary.map(|&number| (number, position)));
    }
    let mut last: Vec<(u32, usize)> = last.into_iter().collect();
    last.sort_unstable();
    last.into_iter().for_each(|(number, position)| released[position].push(number));
    released
}

/// The part of an entry in the size of the code.
fn work(entry: &Entry<'_>) -> u32 {
    match entry.op {
        _ if entry.is_evaluated => 0,
        // What they do takes long, but what is in a loop counts itself, and library calls are no part of kernels.
        Op::Loop | Op::LibraryCall => 0,
        op => op.weight(),
    }
}

/// Where entries are computed and used.
struct Order {
    /// For each entry, the outermost loop that it is computed in; itself outside of loops.
    homes: Vec<u32>,
    /// For each entry, the home of the last one that uses it; itself if none does.
    last_uses: Vec<u32>,
}

impl Order {
    fn of(graph: &Graph<'_>) -> Order {
        let count = graph.entries.len();
        let mut loops = FxHashMap::default();
        for (number, entry) in (0_u32..).zip(&graph.entries).filter(|(_, entry)| entry.op == Op::Loop) {
            if let Payload::Loop(payload) = graph.controls[entry.control as usize].payload {
                loops.insert(payload.id, number);
            }
        }
        let mut homes: Vec<u32> = (0..count as u32).collect();
        // What is in a loop comes before it.
        for (number, entry) in graph.entries.iter().enumerate().rev() {
            if let Some(&around) = loops.get(&entry.region).filter(|&&around| around as usize > number) {
                homes[number] = homes[around as usize];
            }
        }
        let mut last_uses: Vec<u32> = (0..count as u32).collect();
        for number in 0..count as u32 {
            for used in uses(graph, number) {
                let last_use = &mut last_uses[used as usize];
                *last_use = homes[number as usize].max(*last_use);
            }
        }
        Order { homes, last_uses }
    }

    fn is_outside(&self, number: u32) -> bool {
        self.homes[number as usize] == number
    }

    /// Returns the last entry of each piece but the last one.
    fn ends(&self, graph: &Graph<'_>) -> Vec<u32> {
        let mut works = vec![0; graph.entries.len()];
        for (entry, &home) in graph.entries.iter().zip(&self.homes) {
            works[home as usize] += work(entry);
        }
        let mut ending: Vec<[u32; 2]> = vec![[0; 2]; graph.entries.len()];
        let (mut written, mut never, mut length) = (0, 0, 0);
        let mut best: Option<(u32, u32)> = None;
        let mut ends = Vec::new();
        for number in (0..graph.entries.len() as u32).filter(|&number| self.is_outside(number)) {
            length += works[number as usize];
            let last_use = self.last_uses[number as usize];
            if last_use > number {
                let [written_until, never_until] = &mut ending[last_use as usize];
                match alive(&graph.entries[number as usize]) {
                    Alive::Free => {}
                    Alive::Written => (written, *written_until) = (written + 1, *written_until + 1),
                    Alive::Never => (never, *never_until) = (never + 1, *never_until + 1),
                }
            }
            let [no_longer_written, no_longer_never] = ending[number as usize];
            (written, never) = (written - no_longer_written, never - no_longer_never);
            if length >= PIECE && never == 0 && written <= MAX_ALIVE && best.is_none_or(|(_, fewest)| written < fewest)
            {
                best = Some((number, written));
            }
            if length >= LONGEST_PIECE
                && let Some((end, _)) = best.take()
            {
                ends.push(end);
                length = works[end as usize + 1..=number as usize].iter().sum();
            }
        }
        // The rest is not longer than it must be: it differs from the others.
        ends.extend(best.map(|(end, _)| end));
        ends
    }
}

/// What a value means for the end of a piece after which it is used.
enum Alive {
    /// It is in memory then, or computed again in a moment.
    Free,
    /// It has to be written.
    Written,
    /// There can be no end.
    Never,
}

fn alive(entry: &Entry<'_>) -> Alive {
    let is_control = matches!(entry.op, Op::Loop | Op::Branch | Op::Switch | Op::Param | Op::Scatter | Op::Local);
    if entry.is_evaluated || (entry.is_root && entry.is_later) {
        Alive::Free
    } else if entry.region != RegionId::NONE || is_control || entry.var.flags() & EXCLUDED != 0 {
        Alive::Never
    } else if entry.var.cost() < EXPENSIVE {
        Alive::Free
    } else {
        Alive::Written
    }
}

/// The pieces of a graph.
struct Pieces {
    /// For each entry, the number of its piece.
    pieces: Vec<u32>,
    /// For each entry, whether it is written at the end of its piece.
    is_written: Vec<bool>,
}

impl Pieces {
    fn new(graph: &Graph<'_>, order: &Order, ends: &[u32]) -> Pieces {
        let piece_of = |&home: &u32| ends.partition_point(|&end| end < home) as u32;
        let pieces: Vec<u32> = order.homes.iter().map(piece_of).collect();
        let is_alive = |(number, entry): (u32, &Entry<'_>)| {
            let last_use = order.last_uses[number as usize];
            let is_used_later = pieces[last_use as usize] > pieces[number as usize];
            order.is_outside(number) && is_used_later && matches!(alive(entry), Alive::Written)
        };
        let is_written = (0..).zip(&graph.entries).map(is_alive).collect();
        Pieces { pieces, is_written }
    }

    /// Returns whether enough pieces have the same operations as another one.
    fn are_equal(&self, graph: &Graph<'_>, ends: &[u32]) -> bool {
        let mut begin = 0;
        let mut of_piece = |&end: &u32| {
            let mut hasher = FxHasher::default();
            (begin..=end).for_each(|number| self.hash(graph, begin, number, &mut hasher));
            begin = end + 1;
            hasher.finish()
        };
        let different: FxHashSet<u64> = ends.iter().map(&mut of_piece).collect();
        !ends.is_empty() && different.len() * MOST_DIFFERENT.1 <= ends.len() * MOST_DIFFERENT.0
    }

    /// Hashes the operation of an entry, and the distance to its operands in the piece.
    fn hash(&self, graph: &Graph<'_>, begin: u32, number: u32, hasher: &mut FxHasher) {
        let entry = &graph.entries[number as usize];
        (entry.op.code(), entry.var.ty() as u8, self.is_written[number as usize]).hash(hasher);
        let distance = |used: u32| if used >= begin { number - used } else { 0 };
        uses(graph, number).into_iter().for_each(|used| distance(used).hash(hasher));
    }

    /// Marks what is written, and moves what comes later to later stages.
    fn separate(&self, graph: &mut Graph<'_>) {
        for number in 0..graph.entries.len() as u32 {
            let stage = uses(graph, number).into_iter().map(|used| self.stage_of_use(graph, number, used)).max();
            let entry = &mut graph.entries[number as usize];
            entry.stage = stage.unwrap_or(entry.stage);
            let is_written = self.is_written[number as usize];
            entry.is_temporary = is_written && !entry.is_root;
            entry.is_root |= is_written;
        }
    }

    /// Returns the first stage in which an entry can use another one.
    fn stage_of_use(&self, graph: &Graph<'_>, number: u32, used: u32) -> u32 {
        let [entry, operand] = [number, used].map(|number| &graph.entries[number as usize]);
        let is_next_piece = self.is_written[used as usize] && self.pieces[number as usize] > self.pieces[used as usize];
        let is_source = !operand.is_evaluated
            && (entry.op == Op::LibraryCall || (entry.op == Op::Gather && entry.operands[0] == used));
        operand.stage + u32::from(operand.is_later || is_source || is_next_piece)
    }
}
