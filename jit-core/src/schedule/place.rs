//! Placement: the loop or branch in which each value of a kernel is computed.
//!
//! The graph contains dependencies, not positions. Every value is placed as late as its uses allow, inside a branch if
//! only that side needs it, and then hoisted out of every loop that it does not depend on (C. Click, *Global Code
//! Motion, Global Value Numbering*, PLDI 1995). Nodes that were recorded to run only under a loop's condition stay
//! inside the loop.
//!
//! Blocks become regions of the kernel, which nest at most [`MAX_DEPTH`] deep. Placement may nest them deeper than the
//! program does: a value that only one arm uses is computed in that arm, with its own loops and branches.

use jit_runtime::ir::verify::MAX_DEPTH;
use jit_runtime::{Error, ErrorKind};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::group::{Group, is_leaf, lane_operands};
use super::order::{Graph, NONE};
use crate::graph::payload::{Payload, RegionId};

/// The block outside all loops and branches.
pub(super) const TOP: u32 = 0;

/// A list of instructions that run in sequence.
pub(super) struct Block {
    pub(super) parent: u32,
    depth: u32,
    loop_depth: u32,
    /// The depth of its region in the kernel: for the condition and the body of a loop it is the same.
    nesting: u32,
    /// The branch or switch that the block is a side of, and the side: the first or second one, or a case, the default
    /// last.
    pub(super) side: Option<(u32, u32)>,
    /// The entries, operands first.
    pub(super) entries: Vec<u32>,
}

/// The blocks of a kernel, as a tree.
pub(super) struct Placement {
    pub(super) blocks: Vec<Block>,
    /// For each loop, branch or switch of the kernel, by its entry, its blocks: condition and body, or the sides.
    pub(super) inner: FxHashMap<u32, SmallVec<[u32; 2]>>,
}

struct Placing<'a, 'e> {
    graph: &'a Graph<'e>,
    group: &'a Group,
    placement: Placement,
    /// For each entry, the innermost block that contains all its uses so far.
    latest: Vec<u32>,
    /// For each loop, the block of its condition, which is the outermost in which its state is known, and that of its
    /// body.
    loops: FxHashMap<RegionId, [u32; 2]>,
    /// The outermost loop, branch or switch whose regions are too deep, if there is one.
    too_deep: Option<u32>,
}

/// Places the entries of a kernel.
///
/// # Errors
///
/// When its regions would nest too deep.
pub(super) fn place(graph: &Graph<'_>, group: &Group) -> Result<Placement, Error> {
    let top = Block { parent: TOP, depth: 0, loop_depth: 0, nesting: 0, side: None, entries: Vec::new() };
    let placement = Placement { blocks: vec![top], inner: FxHashMap::default() };
    let latest = vec![NONE; graph.entries.len()];
    let mut placing = Placing { graph, group, placement, latest, loops: FxHashMap::default(), too_deep: None };
    group.roots.iter().for_each(|&root| placing.latest[root as usize] = TOP);
    for &number in group.order.iter().rev() {
        placing.place(number);
    }
    if let Some(number) = placing.too_deep {
        return Err(nested_too_deep(graph, number));
    }
    let mut placement = placing.placement;
    placement.blocks.iter_mut().for_each(|block| block.entries.reverse());
    Ok(placement)
}

#[cold]
fn nested_too_deep(graph: &Graph<'_>, number: u32) -> Error {
    let text = format!("traced loops, branches and calls are nested more than {MAX_DEPTH} deep in one kernel");
    Error::new(ErrorKind::Compile, text).at(graph.entries[number as usize].var.site()).with_hint(
        "mark the outer loops and branches with `#[evaluated]`, evaluate values from before them with `jit::eval`, or \
         write a recursion as a `while` loop",
    )
}

impl Placing<'_, '_> {
    fn place(&mut self, number: u32) {
        let latest = self.latest[number as usize];
        if latest == NONE {
            return;
        }
        let entry = self.graph.entries[number as usize];
        let [earliest, home] = self.loops.get(&entry.region).copied().unwrap_or([TOP; 2]);
        // Writes to memory run on the lanes for which they were recorded, wherever their results are used.
        let block = match self.graph.writes_memory(number) {
            true if self.graph.is_in_condition(number) => earliest,
            true => home,
            false => self.leave_loops(latest, earliest),
        };
        self.placement.blocks[block as usize].entries.push(number);
        if is_leaf(self.graph, self.group, number) {
            return;
        }
        if entry.is_control() {
            self.place_control(number, block);
            return;
        }
        lane_operands(self.graph, number).for_each(|operand| self.use_in(block, operand));
    }

    /// Returns the block between two nested ones that is in the fewest loops; the innermost of those.
    fn leave_loops(&self, latest: u32, earliest: u32) -> u32 {
        let loop_depth = |block: u32| self.placement.blocks[block as usize].loop_depth;
        let (mut best, mut block) = (latest, latest);
        while block != earliest && block != TOP {
            block = self.placement.blocks[block as usize].parent;
            if loop_depth(block) < loop_depth(best) {
                best = block;
            }
        }
        best
    }

    fn place_control(&mut self, number: u32, block: u32) {
        let control = &self.graph.controls[self.graph.entries[number as usize].control as usize];
        if self.placement.blocks[block as usize].nesting as usize >= MAX_DEPTH {
            self.too_deep.get_or_insert(number);
        }
        let (condition, first) = match control.payload {
            Payload::Loop(payload) => {
                let condition = self.open(block, 1, None);
                let body = self.open(condition, 0, None);
                self.loops.insert(payload.id, [condition, body]);
                self.placement.inner.insert(number, SmallVec::from([condition, body]));
                control.parts.iter().chain(&control.locals).for_each(|part| self.use_in(body, part.second));
                control.locals.iter().for_each(|part| self.use_in(block, part.first));
                let shared = self.group.shared(self.graph, number);
                shared.iter().for_each(|shared| self.use_in(body, shared.next));
                let written = shared.iter().map(|shared| shared.previous).filter(|&previous| previous != NONE);
                written.for_each(|previous| self.use_in(block, previous));
                (condition, block)
            }
            Payload::Switch(payload) => {
                let sides = 0..=payload.masks.len() as u32;
                let sides: SmallVec<[u32; 2]> = sides.map(|side| self.open(block, 0, Some((number, side)))).collect();
                for values in &control.values {
                    values.iter().zip(&sides).for_each(|(&value, &side)| self.use_in(side, value));
                }
                self.placement.inner.insert(number, sides);
                self.use_in(block, control.condition);
                control.checked.into_iter().flatten().for_each(|checked| self.use_in(block, checked));
                return;
            }
            Payload::Branch(_) | Payload::Scatter(_) | Payload::LibraryCall(_) => {
                let sides = [0, 1].map(|side| self.open(block, 0, Some((number, side))));
                self.placement.inner.insert(number, SmallVec::from(sides));
                control.parts.iter().for_each(|part| self.use_in(sides[1], part.second));
                (block, sides[0])
            }
        };
        control.parts.iter().for_each(|part| self.use_in(first, part.first));
        self.use_in(condition, control.condition);
    }

    fn open(&mut self, parent: u32, loops: u32, side: Option<(u32, u32)>) -> u32 {
        let Block { depth, loop_depth, nesting, .. } = self.placement.blocks[parent as usize];
        let is_body = loops == 0 && side.is_none();
        self.placement.blocks.push(Block {
            parent,
            depth: depth + 1,
            loop_depth: loop_depth + loops,
            nesting: nesting + u32::from(!is_body),
            side,
            entries: Vec::new(),
        });
        self.placement.blocks.len() as u32 - 1
    }

    /// Registers a use of a value in a block.
    fn use_in(&mut self, block: u32, operand: u32) {
        let latest = self.latest[operand as usize];
        self.latest[operand as usize] = if latest == NONE { block } else { self.common(latest, block) };
    }

    /// Returns the innermost block that contains both.
    fn common(&self, mut a: u32, mut b: u32) -> u32 {
        let block = |number: u32| &self.placement.blocks[number as usize];
        while a != b {
            if block(a).depth >= block(b).depth {
                a = block(a).parent;
            } else {
                b = block(b).parent;
            }
        }
        a
    }
}

impl Placement {
    /// Returns the sides of branches and switches around a block, the innermost first.
    pub(super) fn sides(&self, block: u32) -> impl Iterator<Item = (u32, u32)> {
        let around =
            std::iter::successors(Some(block), |&block| (block != TOP).then(|| self.blocks[block as usize].parent));
        around.filter_map(|block| self.blocks[block as usize].side)
    }
}
