//! Recording a gather: reading the element of another lane.
//!
//! A source in memory is read there. A source that is a small expression need not go through memory: the expression is
//! recorded again, with the index in place of the lane number and gathers in place of loads. Otherwise the scheduler
//! has an earlier kernel write the source. All three return zero where the index is out of range, for any width of the
//! source, including 0 and 1, and for literal and computed indices. With `JIT_DEBUG` such an index is an error of the
//! launch. To detect it, the elements are then read from memory, even if they are known.

use std::ops::Range;
use std::ptr::NonNull;

use jit_runtime::Site;
use jit_runtime::config;
use jit_runtime::ir::{Type, scalar};
use jit_runtime::memory::Buffer;
use jit_runtime::stats::events::{self, Gathered};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::index_range::{is_lane_index, is_never_inside, lanes_inside};
use super::unaffected::unaffected;
use super::{local, record, region};
use crate::graph::edges;
use crate::graph::gradients::{self, Scope};
use crate::graph::node::{Node, Var, flag};
use crate::graph::op::Op;
use crate::graph::payload::RegionId;
use crate::graph::tape;
use crate::misuse::{self, Misuse};
use crate::size::Size;

/// The largest expression, in nodes, that is recomputed at the index instead of written to memory.
const MAX_NODES: usize = 200;
/// The highest cost that is repeated in each iteration of a loop to save a read from memory.
const MAX_LOOP_COST: u32 = 12;
/// The highest cost of all copies of an expression but the first one: the time that writing it to memory and reading it
/// take …
const MAX_COPIED_COST: u32 = 32;
/// … for many lanes. Another kernel costs as much as so many operations.
const LAUNCH_COST: u32 = 40_000;
/// An expression that reads memory so often is not copied even once: it computes a value from its neighbours, and what
/// gathers from it probably does the same.
const MANY_READS: usize = 5;
/// So many reads at most are repeated where each element of the expression is read once. An expression of more arrays
/// is probably part of several values, as the gradients behind a chain of residual blocks are, and each would read all
/// of them again; one more array to write and read costs little beside so many.
const MOST_READS_ONCE: usize = 8;
/// So many iterations a lane of a loop probably has at least. If its lanes then read as many elements as there are,
/// each is computed once, and iterations read one array instead of several.
const FEW_ITERATIONS: usize = 4;
/// Arrays of fewer lanes are computed as fast as a kernel is launched.
const FEW_LANES: usize = 512;

/// Returns the elements of a source at an index where a mask holds and the index is in range, zero elsewhere.
#[track_caller]
pub(crate) fn gather(source: &Var, index: &Var, mask: Option<&Var>) -> Var {
    let width: Size = record::common_width([Some(index), mask, None]).into();
    let mask = mask.filter(|mask| mask.literal() != Some(1));
    if width == 0 || mask.is_some_and(|mask| mask.literal() == Some(0)) {
        return nothing_of(source, width);
    }
    check_source(source);
    if config::is_debug_on() {
        return widened(&checked(source, index, mask, width), width);
    }
    if source.width() == 0 || is_never_inside(index, source.width()) {
        return nothing_of(source, width);
    }
    let inside = || lanes_inside(index, source.width(), mask);
    if let Some(value) = uniform_value(source) {
        return masked(&value, inside().as_ref(), width);
    }
    if is_lane_index(index) && width.is_always(source.width()) {
        return masked(source, mask, width);
    }
    let at = Position::new(source, index, mask);
    match at.substitute(source) {
        Some(value) => masked(&value, inside().as_ref(), width),
        // A mask that is true on all lanes is not an operand, but still determines the width.
        None => widened(&at.read(source), width),
    }
}

/// Returns what lanes read that read no element.
#[track_caller]
fn nothing_of(source: &Var, width: Size) -> Var {
    unaffected(record::literal(source.ty(), 0, width), [source])
}

/// Like [`gather`] at indices that are in range, and of which no two are equal, in all lanes and iterations of the
/// loop around it: an expression is then recomputed once at most, and so may cost as much as it likes, but not read
/// more than [`MOST_READS_ONCE`] arrays. `known` returns expressions of the lane number of the source, each with its
/// value at the index; it is called only for expressions.
#[track_caller]
pub(crate) fn gather_once(
    source: &Var,
    index: &Var,
    mask: Option<&Var>,
    known: impl FnOnce() -> SmallVec<[(Var, Var); 8]>,
) -> Var {
    let is_plain = source.is_evaluated() || index.literal().is_some() || uniform_value(source).is_some();
    if is_plain || config::is_debug_on() || source.width() <= 1 {
        return gather(source, index, mask);
    }
    check_source(source);
    let at = Position::new(source, index, mask);
    match at.substitute_known(source, &known(), MOST_READS_ONCE) {
        Some(value) => masked(&value, mask, record::common_width([Some(index), mask, None]).into()),
        None => gather(source, index, mask),
    }
}

/// Returns what recording an expression at another lane costs, or some number above a limit if it is larger. Its parts
/// whose values there are known cost nothing, nor does what is read from memory.
pub(crate) fn cost_at_another_lane(source: &Var, known: &[Var], limit: u32) -> u32 {
    let mut seen: SmallVec<[NonNull<Node>; 16]> = known.iter().map(Var::address).collect();
    let (mut cost, mut pending) = (0, vec![source.clone()]);
    while let Some(var) = pending.pop() {
        if seen.contains(&var.address()) {
            continue;
        }
        seen.push(var.address());
        if is_leaf(&var) {
            continue;
        }
        cost += var.op().weight();
        if cost > limit {
            break;
        }
        pending.extend(lane_slots(&var).filter_map(|slot| var.operand(slot)));
    }
    cost
}

/// Returns whether an expression contains another one. What is in memory contains nothing.
pub(crate) fn contains(source: &Var, part: &Var) -> bool {
    let (mut seen, mut pending) = (FxHashSet::default(), vec![source.clone()]);
    while let Some(var) = pending.pop() {
        if var.is_same(part) {
            return true;
        }
        if !is_leaf(&var) && seen.insert(var.address()) {
            pending.extend(lane_slots(&var).filter_map(|slot| var.operand(slot)));
        }
    }
    false
}

/// Like [`gather`], but a source of width 1 counts as repeated to a number of elements.
#[track_caller]
pub(crate) fn gather_repeated(source: &Var, elements: Size, index: &Var, mask: Option<&Var>) -> Var {
    if local::is_local(source) || source.width() != 1 || elements == 1 {
        return gather(source, index, mask);
    }
    let width: Size = record::common_width([Some(index), mask, None]).into();
    if config::is_debug_on() {
        return masked(source, Some(&checked_lanes(source, elements, index, mask)), width);
    }
    if elements == 0 || is_never_inside(index, elements) {
        return nothing_of(source, width);
    }
    masked(source, lanes_inside(index, elements, mask).as_ref(), width)
}

/// Like [`gather`], by a read from memory: checking an index needs an array that it refers to.
#[track_caller]
fn checked(source: &Var, index: &Var, mask: Option<&Var>, width: Size) -> Var {
    if source.region() == RegionId::NONE {
        let source = in_memory(source);
        return Position::new(&source, index, mask).read(&source);
    }
    // A state of width 1 of a traced loop is not in memory.
    masked(source, Some(&checked_lanes(source, source.width(), index, mask)), width)
}

/// Returns the lanes whose index is in range, checked against an array with this number of elements.
#[track_caller]
fn checked_lanes(source: &Var, elements: Size, index: &Var, mask: Option<&Var>) -> Var {
    let ones = in_memory(&record::literal(source.ty(), scalar::cast(Type::U32, source.ty(), 1), elements));
    record::cast(Type::Bool, &Position::new(&ones, index, mask).read(&ones))
}

/// Returns a host value as elements in memory.
#[track_caller]
fn in_memory(source: &Var) -> Var {
    let Some(bits) = source.known_bits() else { return source.clone() };
    let size = source.ty().size_bytes();
    match Buffer::repeated(&bits.to_ne_bytes()[..size], source.lanes()) {
        Ok(buffer) => record::constants(source.ty(), source.width(), buffer),
        Err(error) => misuse::panic_with(error),
    }
}

/// The positions to read, and the lanes that read.
struct Position {
    index: Var,
    /// The lanes that access memory: those that are requested and reach the code.
    mask: Option<Var>,
    /// The loop body that the read must not be moved out of: lanes that do not enter it read nothing.
    pinned: RegionId,
}

impl Position {
    #[track_caller]
    fn new(source: &Var, index: &Var, mask: Option<&Var>) -> Self {
        let in_range = index.literal().is_some_and(|index| source.width() > index as usize);
        let around = if in_range { None } else { region::current_mask() };
        // Reading one element for all lanes does not become a read per lane because a branch is around it: the width of
        // a value must not depend on whether it is read from memory. If indices are checked, lanes that reach the code
        // are distinguished from others.
        let is_one = index.width() == 1 && mask.is_none_or(|mask| mask.width() == 1);
        let around = around.filter(|around| !is_one || around.width() == 1 || config::is_debug_on());
        let mask = match (mask, around) {
            (Some(mask), Some(around)) => Some(record::and(&around, mask)),
            (Some(mask), None) => Some(mask.clone()),
            (None, around) => around,
        };
        let pinned = if in_range { RegionId::NONE } else { region::innermost_body() };
        Position { index: index.clone(), mask: mask.filter(|mask| mask.literal() != Some(1)), pinned }
    }

    /// Reads from memory.
    #[track_caller]
    fn read(&self, source: &Var) -> Var {
        let flags = if self.pinned == RegionId::NONE { 0 } else { flag::PINNED };
        record::gather_node(source, &self.index, self.mask.as_ref(), flags, self.pinned)
    }

    /// Returns the source's expression at the index, if that is cheaper than memory.
    #[track_caller]
    fn substitute(&self, source: &Var) -> Option<Var> {
        let is_repeated = region::innermost_loop() != RegionId::NONE;
        let is_cheap = !is_repeated || source.cost() <= MAX_LOOP_COST;
        let most = MAX_COPIED_COST + LAUNCH_COST / (source.lanes() as u32).max(1);
        let copied = source.cost_up_to(most).saturating_mul(source.copies());
        // What library calls have computed is often a small table, from which many lanes read. Each copy of an
        // expression has gradients of its own, and where these are added must not depend on the width.
        let is_computed = source.flags() & flag::CONTROL != 0;
        let is_table = source.flags() & flag::GRAD != 0 || source.lanes() < self.index.lanes() / 2;
        if is_computed && is_table || !is_cheap || copied > most {
            return None;
        }
        let max_reads = match source.lanes() {
            ..FEW_LANES => usize::MAX,
            lanes if is_repeated && lanes <= self.index.lanes().saturating_mul(FEW_ITERATIONS) => 1,
            _ => MANY_READS - 1,
        };
        let value = self.substitute_known(source, &[], max_reads)?;
        source.add_copy();
        Some(value)
    }

    /// Returns the source's expression at the index, if there is one. The values at the index of some expressions of
    /// the lane number are known.
    #[track_caller]
    fn substitute_known(&self, source: &Var, known: &[(Var, Var)], max_reads: usize) -> Option<Var> {
        if source.is_evaluated() {
            return None;
        }
        let done = known.iter().map(|(of, value)| (of.address(), value.clone())).collect();
        let edges = edges::read();
        // Gradients that end within the expression did so before: an operation that reads it captures nothing.
        let ends_before = gradients::is_suspended() && source.flags() & flag::GRAD == 0;
        let _unwatched = ends_before.then(|| Scope::begin(true));
        let mut substitution = Substitution { at: self, done, reads_left: max_reads };
        let value = substitution.run(source);
        drop(edges);
        if value.is_some() && events::is_profiled() {
            substitution.note(source);
        }
        value
    }
}

/// An expression that is being recorded again at another lane.
struct Substitution<'a> {
    at: &'a Position,
    done: FxHashMap<NonNull<Node>, Var>,
    /// How often it may still read memory.
    reads_left: usize,
}

impl Substitution<'_> {
    #[track_caller]
    fn run(&mut self, source: &Var) -> Option<Var> {
        let mut pending = vec![source.clone()];
        while let Some(var) = pending.last() {
            if self.done.contains_key(&var.address()) {
                pending.pop();
                continue;
            }
            let missing = self.missing_operands(var);
            if missing.is_empty() {
                let var = var.clone();
                let value = self.rebuild(&var)?;
                self.done.insert(var.address(), value);
                pending.pop();
            } else {
                pending.extend(missing);
            }
            if self.done.len() + pending.len() > MAX_NODES {
                return None;
            }
        }
        self.done.get(&source.address()).cloned()
    }

    /// Tells profiles that the expression is computed at the index, too.
    #[cold]
    #[track_caller]
    fn note(&self, source: &Var) {
        let site = Site::here();
        // A read from memory is necessary in any case.
        let own = self.done.values().filter(|value| value.op() != Op::Gather && value.site() == site);
        let weight = own.map(|value| value.op().weight()).sum();
        if weight > 0 {
            events::note_gathered(Gathered { site, source: source.site(), weight });
        }
    }

    /// Returns the operands that must be recorded first.
    fn missing_operands(&self, var: &Var) -> Vec<Var> {
        if is_leaf(var) {
            return Vec::new();
        }
        let operands = lane_slots(var).filter_map(|slot| var.operand(slot));
        operands.filter(|operand| !self.done.contains_key(&operand.address())).collect()
    }

    /// Returns the node at the other lane, from operands at the other lane.
    #[track_caller]
    fn rebuild(&mut self, var: &Var) -> Option<Var> {
        if var.width() == 1 && !matches!(var.op(), Op::LaneIndex) {
            return Some(var.clone());
        }
        if let Some(value) = uniform_value(var) {
            return Some(value);
        }
        if is_leaf(var) {
            return match var.op() {
                Op::LaneIndex => Some(record::cast(Type::U32, &self.at.index)),
                _ if var.has_data() || tape::is_distinguished(var) => self.read(var, self.at),
                Op::Placeholder | Op::LibraryResult => self.read(var, self.at),
                _ => None,
            };
        }
        let value = |slot: usize| Some(self.done[&var.operand(slot)?.address()].clone());
        // What was recorded without gradients carries none at the other lane.
        let _suspended = (var.flags() & flag::DETACHED != 0).then(|| Scope::begin(true));
        match var.op() {
            Op::Identity if var.flags() & flag::GRAD == 0 => Some(record::detached(&value(0)?)),
            Op::Broadcast | Op::Identity => value(0),
            Op::Cast => Some(record::cast(var.ty(), &value(0)?)),
            Op::Bitcast => Some(record::bitcast(var.ty(), &value(0)?)),
            Op::Unary(op) => Some(record::unary(op, &value(0)?)),
            Op::Binary(op) => Some(record::binary(op, &value(0)?, &value(1)?)),
            Op::Compare(op) => Some(record::compare(op, &value(0)?, &value(1)?)),
            Op::Fma => Some(record::fma(&value(0)?, &value(1)?, &value(2)?)),
            Op::Select => Some(record::select(&value(0)?, &value(1)?, &value(2)?)),
            Op::Gather => self.nested_gather(var, value(1)?, value(2)),
            _ => None,
        }
    }

    /// Records a gather at an index that was itself computed for the other lane.
    #[track_caller]
    fn nested_gather(&mut self, var: &Var, index: Var, mask: Option<Var>) -> Option<Var> {
        let source = var.operand(0)?;
        let mask = match (mask, &self.at.mask) {
            (Some(mask), Some(outer)) => Some(record::and(outer, &mask)),
            (mask, outer) => mask.or_else(|| outer.clone()),
        };
        self.read(&source, &Position { index, mask, pinned: self.at.pinned })
    }

    #[track_caller]
    fn read(&mut self, source: &Var, at: &Position) -> Option<Var> {
        self.reads_left = self.reads_left.checked_sub(1)?;
        Some(at.read(source))
    }
}

/// Returns the slots of the operands that a node reads at its own lane: all but the source of a gather.
fn lane_slots(var: &Var) -> Range<usize> {
    usize::from(var.op() == Op::Gather)..var.op().slots()
}

/// Returns whether a node has no operands that the substitution visits.
fn is_leaf(var: &Var) -> bool {
    // Gradients flow through a node with a record of its own, not through the expression behind it.
    let is_taped = tape::is_distinguished(var) && !(gradients::is_suspended() && tape::is_result(var));
    var.width() == 1 || var.has_data() || is_taped || var.op().slots() == 0 || var.op().is_stored()
}

/// Returns the value that is the same in every lane of a source, of width 1.
#[track_caller]
fn uniform_value(source: &Var) -> Option<Var> {
    match source.op() {
        _ if source.width() == 1 => Some(source.clone()),
        Op::Literal => Some(record::literal(source.ty(), source.known_bits()?, 1)),
        Op::Scalar => Some(record::opaque_like(source, 1)),
        Op::Broadcast => source.operand(0),
        _ => None,
    }
}

#[track_caller]
fn widened(value: &Var, width: Size) -> Var {
    if value.width() == 1 { record::broadcast(value, width) } else { value.clone() }
}

/// Returns the value where the mask holds, zero elsewhere.
#[track_caller]
fn masked(value: &Var, mask: Option<&Var>, width: Size) -> Var {
    let value = match mask {
        Some(mask) => record::select(mask, value, &record::literal(value.ty(), 0, 1)),
        None => record::folded_to(value.clone()),
    };
    record::broadcast(&value, width)
}

#[track_caller]
fn check_source(source: &Var) {
    let site = Site::here();
    if local::is_local(source) {
        Misuse::new("a `Local` has no lanes to gather from", site)
            .value("the memory", source)
            .hint("read its elements")
            .panic();
    }
    if source.width() <= 1 || source.region() == RegionId::NONE {
        return;
    }
    region::check(source, site);
    let mut misuse =
        Misuse::new("the state of a traced loop cannot be gathered from", site).value("the source", source);
    if let Some(begin) = region::site_of(source.region()) {
        misuse = misuse.place("the loop begins", begin);
    }
    misuse.hint("lanes run a traced loop independently; gather from an array that was made before the loop").panic()
}
