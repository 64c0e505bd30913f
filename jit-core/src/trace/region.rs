//! Regions: the nodes recorded between the begin and the end of a traced loop or branch.
//!
//! Each thread has a stack of open regions. Only loops make *regions of values*: a loop's state is known only by lane
//! and iteration, so values that depend on it exist only inside the loop. Each node carries the innermost such region
//! that it depends on. Using it after the region was closed, or on another thread, is a program error. Branches make no
//! values of their own: the nodes inside are pure, and only the side that a result comes from depends on the lane.
//! Branches provide a mask for effects that must not happen on lanes that take the other side.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use jit_runtime::Site;

use super::report::Report;
use super::{record, scatter};
use crate::graph::node::{Node, Var};
use crate::graph::numbering::{self, Since};
use crate::graph::payload::RegionId;
use crate::graph::weak::Weak;
use crate::misuse::Misuse;
use crate::thread_state::{Clear, thread_state};

/// The kind of an open region, and its active lanes.
enum Open {
    /// A loop whose condition is recorded: it runs once more than the body, on all lanes.
    Condition,
    /// A loop whose body is recorded: it runs on the lanes on which the condition holds.
    Body,
    /// One side of a branch, and the mask of its lanes.
    Side(Var),
    /// Code that runs as written, for all lanes at once, though it concerns only those of a mask: an iteration of an
    /// evaluated loop, a side of an evaluated branch. Inside it values have elements, and written arrays can be read.
    Evaluated(Var),
}

struct Frame {
    id: RegionId,
    open: Open,
    /// Whether an array was written in it, not counting inner regions.
    has_effect: bool,
    /// The writes to arrays and to per-lane local memory in it.
    writes: Writes,
    /// Its reports, including those of complete inner regions.
    reports: Vec<Report>,
    /// The arrays written in it, to undo the writes if it is aborted.
    written: Vec<Weak>,
    /// For a loop, the parameters of its states, and their values before it.
    params: Vec<[Var; 2]>,
    /// For a loop, the number of its states, including those of reports.
    states: usize,
    site: Site,
}

/// Identifies a frame of the stack.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    depth: usize,
    pub(crate) id: RegionId,
}

struct Stack {
    frames: RefCell<Vec<Frame>>,
    next_id: Cell<u32>,
}

impl Clear for Stack {
    fn clear(&self) {
        self.frames.clear();
    }
}

thread_state! {
    static STACK: Stack = Stack { frames: RefCell::new(Vec::new()), next_id: Cell::new(0) };
}

/// Takes a number for a region: each thread takes blocks of them, so that they are unique.
fn take_id(stack: &Stack) -> RegionId {
    use std::sync::atomic::{AtomicU32, Ordering};
    const BLOCK: u32 = 1024;
    static NEXT_BLOCK: AtomicU32 = AtomicU32::new(0);
    let mut id = stack.next_id.get();
    if id.is_multiple_of(BLOCK) {
        id = NEXT_BLOCK.fetch_add(1, Ordering::Relaxed).wrapping_mul(BLOCK) + 1;
    }
    stack.next_id.set(id + 1);
    RegionId::new(id)
}

/// Opens a loop with a number of states.
pub(crate) fn open_loop(states: usize, site: Site) -> Mark {
    open(Open::Condition, states, site)
}

/// Opens the side of a branch on which a mask holds.
pub(crate) fn open_side(mask: Var, site: Site) -> Mark {
    open(Open::Side(mask), 0, site)
}

/// Opens code that runs for all lanes and concerns those on which a mask holds.
pub(crate) fn open_evaluated(mask: Var, site: Site) -> Mark {
    open(Open::Evaluated(mask), 0, site)
}

fn open(open: Open, states: usize, site: Site) -> Mark {
    STACK.with(|stack| {
        let id = take_id(stack);
        let mut frames = stack.frames.borrow_mut();
        let frame = Frame {
            id,
            open,
            has_effect: false,
            writes: Writes::default(),
            reports: Vec::new(),
            written: Vec::new(),
            params: Vec::new(),
            states,
            site,
        };
        if frame.is_recorded() && !frames.iter().any(Frame::is_recorded) {
            numbering::begin_since();
        }
        frames.push(frame);
        Mark { depth: frames.len() - 1, id }
    })
}

/// Regions that are open outside the current recording; dropping it opens them again.
pub(crate) struct Outside(Vec<Frame>, Option<Since>);

/// Records the following code as if no region was open, until the result is dropped. Values that depend on a region
/// cannot be used.
#[must_use]
pub(crate) fn exit_all() -> Outside {
    Outside(STACK.with(|stack| std::mem::take(&mut *stack.frames.borrow_mut())), numbering::take_since())
}

impl Drop for Outside {
    fn drop(&mut self) {
        let frames = std::mem::take(&mut self.0);
        numbering::end_since(self.1.take());
        let inside = STACK.try_with(|stack| stack.frames.replace(frames));
        // The masks are dropped after the stack is released.
        drop(inside);
    }
}

/// Goes from the condition of a loop to its body, closing regions left open inside.
pub(crate) fn begin_body(mark: Mark) {
    drop(close_from(mark, 1));
    STACK.with(|stack| {
        if let Some(frame) = stack.frames.borrow_mut().get_mut(mark.depth).filter(|frame| frame.id == mark.id) {
            frame.open = Open::Body;
        }
    });
}

/// Registers the parameters of a loop's states, with their values before it.
pub(crate) fn note_params(mark: Mark, params: &[Var], inits: &[Var]) {
    STACK.with(|stack| {
        if let Some(frame) = stack.frames.borrow_mut().get_mut(mark.depth).filter(|frame| frame.id == mark.id) {
            frame.params = params.iter().zip(inits).map(|(param, init)| [param.clone(), init.clone()]).collect();
        }
    });
}

/// Aborts a region and the regions left open inside. Parameters of loops, and arrays that were written, become their
/// values from before. Repeated calls do nothing.
pub(crate) fn give_up(mark: Mark) {
    take_out_of_loops(mark);
    let frames = close_from(mark, 0);
    let params = frames.iter().flat_map(|frame| frame.params.iter().cloned());
    let written = frames.iter().flat_map(|frame| &frame.written).filter_map(Weak::upgrade).filter_map(with_original);
    become_originals(&params.chain(written).collect::<Vec<_>>());
}

/// Undoes the writes of regions that were complete, but belong to something that is aborted.
pub(crate) fn take_back(written: &[Weak]) {
    let pairs = written.iter().filter_map(Weak::upgrade).filter(scatter::is_written).filter_map(with_original);
    become_originals(&pairs.collect::<Vec<_>>());
}

/// Returns an array that was written, with its value before.
fn with_original(array: Var) -> Option<[Var; 2]> {
    let original = array.original().or_else(|| scatter::before(&array).map(|(before, _)| before))?;
    Some([array, original])
}

/// Restores nodes to their values before the aborted region.
fn become_originals(pairs: &[[Var; 2]]) {
    pairs.iter().for_each(|[node, original]| node.set_original(original));
    for [node, original] in pairs {
        let region = scatter::original(original).region();
        node.set_region(region);
        // It is an array of an outer region, which may be aborted, too.
        if region == RegionId::WRITING {
            note_written(node);
        }
    }
}

/// Moves the values of aborted loops to the loop around them, so that variables that hold them can be evaluated.
fn take_out_of_loops(mark: Mark) {
    let (aborted, around) = STACK.try_with(|stack| loops_from(&stack.frames.borrow(), mark)).unwrap_or_default();
    if aborted.is_empty() {
        return;
    }
    let is_inside = |var: &Var| aborted.contains(&var.recorded_region());
    for var in numbering::made_since() {
        let control = if var.op().is_result() { var.operand(0) } else { None };
        [Some(var), control].into_iter().flatten().filter(is_inside).for_each(|var| var.set_region(around));
    }
}

/// Returns the loops from a region on, if it is open, and the innermost one around it.
fn loops_from(frames: &[Frame], mark: Mark) -> (SmallVec<[RegionId; 4]>, RegionId) {
    if frames.get(mark.depth).is_none_or(|frame| frame.id != mark.id) {
        return Default::default();
    }
    let (around, inside) = frames.split_at(mark.depth);
    let id = |frame: &&Frame| frame.is_loop();
    let around = around.iter().rev().find(id).map_or(RegionId::NONE, |frame| frame.id);
    (inside.iter().filter(id).map(|frame| frame.id).collect(), around)
}

/// Registers an array that is written in the innermost region.
pub(crate) fn note_written(array: &Var) {
    let _ = STACK.try_with(|stack| {
        if let Some(frame) = stack.frames.borrow_mut().iter_mut().rev().find(|frame| frame.is_recorded()) {
            frame.written.push(array.downgrade());
        }
    });
}

/// The results of a complete region.
#[derive(Default)]
pub(crate) struct Closed {
    /// Its reports.
    pub(crate) reports: Vec<Report>,
    /// The arrays written in it: for [`take_back`], or [`hand_on`].
    pub(crate) written: Vec<Weak>,
}

/// Closes a region, which is complete. Regions left open inside are aborted.
#[must_use]
pub(crate) fn complete(mark: Mark) -> Closed {
    let frame = close_from(mark, 0).into_iter().next();
    frame.map_or_else(Closed::default, |Frame { reports, written, .. }| Closed { reports, written })
}

/// A loop that is open to record nodes of its body, but is not itself recorded. Dropping it closes it.
pub(crate) struct BodyOnly {
    pub(crate) mark: Mark,
}

impl BodyOnly {
    pub(crate) fn open(site: Site) -> BodyOnly {
        BodyOnly { mark: open_loop(0, site) }
    }
}

impl Drop for BodyOnly {
    fn drop(&mut self) {
        drop(close_from(self.mark, 0));
    }
}

/// Returns the reports of a region that is still open.
pub(crate) fn take_reports(mark: Mark) -> Vec<Report> {
    STACK.with(|stack| {
        let mut frames = stack.frames.borrow_mut();
        let frame = frames.get_mut(mark.depth).filter(|frame| frame.id == mark.id);
        frame.map_or_else(Vec::new, |frame| std::mem::take(&mut frame.reports))
    })
}

/// Passes arrays that were written in complete regions to the region around, which undoes the writes if it is aborted.
pub(crate) fn hand_on(written: Vec<Weak>) {
    if written.is_empty() {
        return;
    }
    STACK.with(|stack| {
        if let Some(around) = stack.frames.borrow_mut().iter_mut().rev().find(|frame| frame.is_recorded()) {
            around.written.extend(written);
        }
    });
}

/// Removes frames from the stack. Their contents are dropped after the stack is released.
fn close_from(mark: Mark, offset: usize) -> Vec<Frame> {
    let closed = STACK.try_with(|stack| {
        let mut frames = stack.frames.borrow_mut();
        let is_open = frames.get(mark.depth).is_some_and(|frame| frame.id == mark.id);
        let closed = if is_open { frames.split_off(mark.depth + offset) } else { Vec::new() };
        // Writes inside a region are also writes of the outer region.
        if let Some(around) = frames.last_mut() {
            closed.iter().for_each(|frame| around.writes.extend(&frame.writes));
        }
        if is_open && closed.iter().any(Frame::is_recorded) && !frames.iter().any(Frame::is_recorded) {
            numbering::end_since(None);
        }
        closed
    });
    closed.unwrap_or_default()
}

/// Returns the number of loops and branches open on this thread.
pub(crate) fn depth() -> usize {
    STACK.try_with(|stack| stack.frames.borrow().len()).unwrap_or(0)
}

/// Adds reports to the innermost region, or stores them if none is open.
pub(crate) fn add_report(report: Report) {
    let left = STACK.with(|stack| match stack.frames.borrow_mut().iter_mut().rev().find(|frame| frame.is_recorded()) {
        Some(frame) => {
            frame.reports.push(report);
            None
        }
        None => Some(report),
    });
    left.into_iter().for_each(Report::keep);
}

/// Adds a number of states to each open loop inside of a region, outermost first; returns each loop with the position
/// of the first of them.
pub(crate) fn claim_states(count: usize, around: RegionId) -> Vec<(RegionId, usize)> {
    STACK.with(|stack| {
        let mut frames = stack.frames.borrow_mut();
        let loops = frames.iter_mut().filter(|frame| frame.is_loop() && frame.id.get() > around.get());
        let claim = |frame: &mut Frame| {
            frame.states += count;
            (frame.id, frame.states - count)
        };
        loops.map(claim).collect()
    })
}

/// Adds a state to the innermost open loop; returns it with the position of the state.
pub(crate) fn claim_state() -> Option<(RegionId, usize)> {
    STACK.with(|stack| {
        let mut frames = stack.frames.borrow_mut();
        let frame = frames.iter_mut().rev().find(|frame| frame.is_loop())?;
        frame.states += 1;
        Some((frame.id, frame.states - 1))
    })
}

/// Returns the innermost loop that is open on this thread.
pub(crate) fn innermost_loop() -> RegionId {
    find(|frame| frame.is_loop())
}

/// Returns the innermost loop whose body is being recorded: the current code runs only on the lanes that its condition
/// selected.
pub(crate) fn innermost_body() -> RegionId {
    find(|frame| matches!(frame.open, Open::Body))
}

/// Returns the innermost loop, around a region, whose body is being recorded.
pub(crate) fn innermost_body_around(mark: Mark) -> RegionId {
    STACK.with(|stack| {
        let frames = stack.frames.borrow();
        let bodies = frames.iter().take(mark.depth).rev().find(|frame| matches!(frame.open, Open::Body));
        bodies.map_or(RegionId::NONE, |frame| frame.id)
    })
}

fn find(predicate: impl Fn(&Frame) -> bool) -> RegionId {
    STACK.with(|stack| {
        let frames = stack.frames.borrow();
        frames.iter().rev().find(|frame| predicate(frame)).map_or(RegionId::NONE, |frame| frame.id)
    })
}

/// Notes that the current body writes to an array.
pub(crate) fn note_effect() {
    STACK.with(|stack| {
        let mut frames = stack.frames.borrow_mut();
        if let Some(frame) = frames.iter_mut().rev().find(|frame| matches!(frame.open, Open::Body)) {
            frame.has_effect = true;
        }
    });
}

/// The writes of a region.
#[derive(Clone, Default)]
pub(crate) struct Writes {
    /// Nodes that write: scatters and loops, and versions of per-lane local memory.
    nodes: FxHashSet<NonNull<Node>>,
    /// For arrays that may be evaluated before the region ends, which drops their operands: the versions before.
    before: FxHashMap<Weak, Weak>,
}

impl Writes {
    /// Returns whether a node is one of those that write.
    pub(crate) fn contains(&self, node: &Var) -> bool {
        self.nodes.contains(&node.address())
    }

    /// Returns the version of an array before its last write.
    pub(crate) fn before(&self, array: Weak) -> Option<Weak> {
        self.before.get(&array).copied()
    }

    fn extend(&mut self, inner: &Writes) {
        // Most regions write nothing.
        if !inner.nodes.is_empty() {
            self.nodes.extend(&inner.nodes);
        }
        if !inner.before.is_empty() {
            self.before.extend(&inner.before);
        }
    }
}

/// Registers a node that writes: it does so on the lanes of the open regions.
pub(crate) fn note_write(node: &Var) {
    STACK.with(|stack| {
        if let Some(frame) = stack.frames.borrow_mut().last_mut() {
            frame.writes.nodes.insert(node.address());
        }
    });
}

/// Registers the versions of an array before and after a write, or a copy, in code that runs instead of being recorded:
/// evaluation there drops the relation.
pub(crate) fn note_version(after: &Var, before: &Var) {
    STACK.with(|stack| {
        let mut frames = stack.frames.borrow_mut();
        if !frames.first().is_some_and(|frame| matches!(frame.open, Open::Evaluated(_))) {
            return;
        }
        if let Some(frame) = frames.last_mut() {
            frame.writes.before.insert(after.downgrade(), before.downgrade());
        }
    });
}

/// Returns the writes of an open region.
pub(crate) fn writes_of(mark: Mark) -> Writes {
    STACK.with(|stack| {
        let frames = stack.frames.borrow();
        let is_open = frames.get(mark.depth).is_some_and(|frame| frame.id == mark.id);
        let inside = if is_open { &frames[mark.depth..] } else { &[] };
        let mut writes = Writes::default();
        inside.iter().for_each(|frame| writes.extend(&frame.writes));
        writes
    })
}

/// Returns whether the body of an open loop writes to an array.
pub(crate) fn has_effect(mark: Mark) -> bool {
    STACK.with(|stack| {
        stack.frames.borrow().get(mark.depth).is_some_and(|frame| frame.id == mark.id && frame.has_effect)
    })
}

/// Returns whether a loop or branch, recorded or evaluated, is open on this thread.
pub(crate) fn is_open() -> bool {
    STACK.try_with(|stack| !stack.frames.borrow().is_empty()).unwrap_or_default()
}

/// Returns whether any loop or branch is being recorded on this thread.
pub(crate) fn is_recording() -> bool {
    recording_site().is_some()
}

/// Returns the line of the innermost loop or branch that is being recorded on this thread.
pub(crate) fn recording_site() -> Option<Site> {
    let site = STACK.try_with(|stack| {
        let frames = stack.frames.borrow();
        frames.iter().rev().find(|frame| !matches!(frame.open, Open::Evaluated(_))).map(|frame| frame.site)
    });
    site.ok().flatten()
}

/// Returns the line of the outermost region that is recorded on this thread.
pub(crate) fn outermost_site() -> Option<Site> {
    STACK.with(|stack| stack.frames.borrow().iter().find(|frame| frame.is_recorded()).map(|frame| frame.site))
}

/// Names the innermost region of a value that has no elements yet: “in the loop at file:line”.
pub(crate) fn describe(var: &Var) -> String {
    STACK.with(|stack| {
        let frames = stack.frames.borrow();
        let own = frames.iter().find(|frame| frame.is_loop() && frame.id == var.region());
        match own.or_else(|| frames.iter().rev().find(|frame| frame.is_recorded())) {
            Some(frame) => {
                let kind = if frame.is_loop() { "loop" } else { "branch" };
                format!("in the {kind} at {}:{}", frame.site.file(), frame.site.line())
            }
            None => "in a loop that has ended".to_owned(),
        }
    })
}

/// Returns whether the innermost loop is at its condition.
pub(crate) fn is_at_condition() -> bool {
    STACK.with(|stack| {
        let frames = stack.frames.borrow();
        frames.iter().rev().find(|frame| frame.is_loop()).is_some_and(|frame| matches!(frame.open, Open::Condition))
    })
}

/// Returns whether the condition of a loop, or a region inside it, is being recorded.
pub(crate) fn is_in_condition() -> bool {
    find(|frame| matches!(frame.open, Open::Condition)) != RegionId::NONE
}

/// Returns the mask of the lanes that reach the current code: the conjunction of the conditions of the branches around
/// it. Inside a loop's body only the branches of that body count, since the loop stops where its own surroundings do.
#[must_use]
pub fn current_mask() -> Option<Var> {
    STACK.with(|stack| {
        let frames = stack.frames.borrow();
        let mut inside = frames.iter().rev().take_while(|frame| !matches!(frame.open, Open::Body));
        // The mask of a side is the conjunction with those around it, so the innermost one is complete.
        inside.find_map(|frame| match &frame.open {
            Open::Side(mask) | Open::Evaluated(mask) => Some(mask.clone()),
            Open::Condition | Open::Body => None,
        })
    })
}

impl Frame {
    fn is_recorded(&self) -> bool {
        !matches!(self.open, Open::Evaluated(_))
    }

    fn is_loop(&self) -> bool {
        matches!(self.open, Open::Condition | Open::Body)
    }
}

/// Returns whether a value may be used here: it depends on no region, or on one that is open on this thread.
pub(crate) fn is_usable(region: RegionId) -> bool {
    region == RegionId::NONE
        || STACK.with(|stack| stack.frames.borrow().iter().any(|frame| frame.is_loop() && frame.id == region))
}

/// Returns the innermost region of some operands, all of which must be usable here.
#[inline]
#[track_caller]
pub(crate) fn of_operands(operands: [Option<&Var>; 3]) -> RegionId {
    of_operands_at(operands, Site::here())
}

/// Like [`of_operands`], for a line of the user's program that is not our caller.
#[inline]
pub(crate) fn of_operands_at(operands: [Option<&Var>; 3], site: Site) -> RegionId {
    let [a, b, c] = operands.map(|operand| operand.map_or(RegionId::NONE, Var::region));
    let region = a.max(b).max(c);
    if region != RegionId::NONE {
        operands.into_iter().flatten().for_each(|operand| check_operand(operand, site));
    }
    region
}

fn check_operand(var: &Var, site: Site) {
    check(var, site);
}

/// Panics if a value belongs to a region that is closed, or open on another thread.
#[track_caller]
pub(crate) fn check(var: &Var, site: Site) {
    if var.region() == RegionId::WRITING {
        refuse_reading(var, site);
    }
    if !is_usable(var.region()) {
        Misuse::new("a value that exists only inside of a traced loop is used outside of it", site)
            .value("the value", var)
            .hint(
                "make it part of the loop's state: declare it with `let mut` before the loop and assign it in the body",
            )
            .panic();
    }
}

#[cold]
pub(crate) fn refuse_reading(var: &Var, site: Site) -> ! {
    Misuse::new("an array is used in the traced `if` or `while` that writes to it", site)
        .value("the array, as it was written,", var)
        .hint(
            "lanes run the region independently, and each writes when it reaches the scatter: read the array after the \
             region, or read a clone that was made before it",
        )
        .panic()
}

/// Returns the line of a region's loop, if it is open on this thread.
pub(crate) fn site_of(region: RegionId) -> Option<Site> {
    STACK.with(|stack| {
        let frames = stack.frames.borrow();
        frames.iter().find(|frame| frame.is_loop() && frame.id == region).map(|frame| frame.site)
    })
}

/// Returns the conjunction of the surrounding mask and a condition.
#[track_caller]
pub(crate) fn conjunction(condition: &Var) -> Var {
    match current_mask() {
        Some(mask) => record::and(&mask, condition),
        None => condition.clone(),
    }
}
