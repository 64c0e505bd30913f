//! The trace of wanted values in canonical form, from which the cache finds kernels without building them.
//!
//! One walk numbers the nodes, operands first, and writes a few words for each: its operation, its element type, a
//! number for its width, and the numbers of its operands. These words, the wanted nodes and the device are everything
//! that the scheduler decides by ([`super::order`], [`super::group`], [`super::emit`]), except the bits of literals,
//! which are listed by themselves. Widths are numbered in the order in which they occur, because only these relations
//! matter: which are equal, and which are 1. Addresses, lines, reference counts and gradients have no influence.
//!
//! Loops, branches and switches are nodes as well. Their parts are listed behind the nodes, and with them the relations
//! of the loops' regions: which nodes belong to which, and which was opened later.
//!
//! Only what is computed lane by lane, gathered and reduced has such a form. A trace with scatters, local memory,
//! library calls, bounds of iterations or empty arrays has none; neither have those that a recording depends on.

mod controls;
mod pattern;

use std::cell::Cell;

use jit_runtime::cache::TraceKey;
use jit_runtime::device::current_device;
use jit_runtime::recording::SizeId;
use smallvec::SmallVec;

use self::controls::Controls;
pub(super) use self::pattern::Pattern;
use super::map::NodeMap;
use crate::graph::Var;
use crate::graph::edges::Edges;
use crate::graph::node::flag;
use crate::graph::op::Op;
use crate::thread_state::thread_state;

/// The number of nodes from which on a trace has no key.
const MAX_NODES: usize = 1 << 16;
/// The bits of an operand's number, plus one.
const OPERAND_BITS: u32 = 17;
/// The number of different widths from which on a trace has no key.
const MAX_WIDTHS: usize = 64;
/// The number of results of a loop, branch or switch from which on a trace has no key.
const MAX_RESULTS: usize = 1 << 13;
/// Buffers of traces with more words are not retained.
const MOST_RETAINED: usize = 1 << 14;
/// Properties of nodes that no kernel computes from its operands alone. Nodes of aborted regions have them, too.
const UNSUPPORTED: u16 = flag::EFFECT | flag::LOCAL | flag::RECORDED | flag::HOSTED;
/// The bits of a node's first word from which on it has the number of its width, and that of its region.
const WIDTH_BIT: u32 = 24;
const REGION_BIT: u32 = 32;
/// What the word of a node has in place of its operation, if it is in memory; and what precedes the wanted nodes.
const IN_MEMORY: u64 = 0xffff;
const WANTED: u64 = 0xfffe;

/// The trace of some nodes.
pub(super) struct Trace<'e> {
    /// The nodes by their numbers.
    nodes: Vec<&'e Var>,
    form: Form,
    /// The nodes that an earlier evaluation has computed without storing them.
    computed: Vec<&'e Var>,
}

/// The words of a trace, and its literals.
#[derive(Default)]
struct Form {
    words: Vec<u64>,
    literals: Vec<u64>,
}

/// The memory of a trace.
#[derive(Default)]
struct Memory {
    /// Empty.
    nodes: Vec<&'static Var>,
    form: Form,
}

thread_state! {
    /// That of the last trace of the thread.
    static SPARE: Cell<Option<Memory>> = Cell::new(None);
}

/// A node that waits for its operands.
struct Frame<'e> {
    var: &'e Var,
    slot: u16,
    slots: u16,
    /// For a loop, branch or switch, the number of parts before its own; `PLAIN` for any other node.
    parts: u32,
    /// The numbers of its operands, plus one.
    operands: u64,
}

/// Not a loop, branch or switch.
const PLAIN: u32 = u32::MAX;

/// What is known of an operand.
enum Known {
    Number(u32),
    /// A kernel computes it from operands that are still to be visited.
    Computed,
    /// It is a loop, branch or switch, whose parts are still to be visited.
    Control,
    /// It has no form.
    Unsupported,
}

struct Walk<'e> {
    edges: &'e Edges,
    nodes: Vec<&'e Var>,
    form: Form,
    /// The numbers of the nodes that may be found again.
    numbers: NodeMap,
    /// The different widths, by their numbers.
    widths: SmallVec<[u32; 8]>,
    /// The last one, and its number.
    width: (u32, u64),
    stack: SmallVec<[Frame<'e>; 8]>,
    controls: Controls,
    computed: Vec<&'e Var>,
}

impl<'e> Trace<'e> {
    /// Describes the graph of the wanted nodes, if it has such a form.
    pub(super) fn of(edges: &'e Edges, wanted: &[&'e Var]) -> Option<Trace<'e>> {
        if wanted.iter().any(|var| var.flags() & UNSUPPORTED != 0) {
            return None;
        }
        let (nodes, form) = take_memory();
        // The numbers of widths 0 and 1 are these.
        let widths = SmallVec::from_slice(&[0, 1]);
        let mut walk = Walk {
            edges,
            nodes,
            form,
            numbers: NodeMap::take(),
            widths,
            width: (1, 1),
            stack: SmallVec::new(),
            controls: Controls::default(),
            computed: Vec::new(),
        };
        let is_described = walk.all(wanted).is_some();
        let Walk { nodes, form, numbers, computed, .. } = walk;
        numbers.give_back();
        let trace = Trace { nodes, form, computed };
        is_described.then_some(trace)
    }

    /// Returns the form by which it is found.
    pub(super) fn key(&self) -> TraceKey<'_> {
        TraceKey { words: &self.form.words, literals: &self.form.literals }
    }

    /// Returns the nodes that an earlier evaluation has computed without storing them.
    #[inline]
    pub(super) fn computed(&self) -> &[&'e Var] {
        &self.computed
    }

    /// Returns the nodes by their numbers.
    pub(super) fn nodes(&self) -> &[&'e Var] {
        &self.nodes
    }

    /// Returns the node with a number.
    #[inline]
    pub(super) fn node(&self, number: u32) -> &'e Var {
        self.nodes[number as usize]
    }

    /// Returns, for each node, whether it is described as being in memory, or as a host value.
    pub(super) fn are_evaluated(&self) -> Vec<bool> {
        let mut words = self.form.words[1..].iter().map(|word| word & 0xffff);
        let mut is_evaluated = |_| {
            let code = words.next().unwrap_or_default();
            if has_operands(code) {
                words.next();
            }
            [IN_MEMORY, Op::Literal.code(), Op::Scalar.code()].contains(&code)
        };
        self.nodes.iter().map(&mut is_evaluated).collect()
    }
}

/// Returns memory for the nodes of a trace, and for its form.
#[inline]
fn take_memory<'e>() -> (Vec<&'e Var>, Form) {
    let Memory { nodes, form } = SPARE.try_with(Cell::take).ok().flatten().unwrap_or_default();
    (nodes, form)
}

/// Returns what the word of a node has as its operation.
#[inline(always)]
fn code_of(var: &Var) -> u64 {
    match var.op() {
        op @ (Op::Literal | Op::Scalar) => op.code(),
        // Their words are addresses of payloads.
        op @ (Op::Loop | Op::Branch | Op::Switch | Op::Scatter | Op::LibraryCall) => op.code(),
        // The word of any other node is the address of its elements.
        _ if var.word() != 0 => IN_MEMORY,
        op => op.code(),
    }
}

/// Returns whether a second word follows that of a node with an operation.
#[inline]
fn has_operands(code: u64) -> bool {
    let leaves = [IN_MEMORY, Op::Literal.code(), Op::Scalar.code(), Op::LaneIndex.code(), Op::Param.code()];
    !leaves.contains(&code)
}

impl Drop for Trace<'_> {
    fn drop(&mut self) {
        let (mut nodes, mut form) = (std::mem::take(&mut self.nodes), std::mem::take(&mut self.form));
        if form.words.capacity().max(nodes.capacity()) <= MOST_RETAINED {
            nodes.clear();
            form.words.clear();
            form.literals.clear();
            // Nothing is left; the memory is collected in place, for references of another lifetime.
            #[expect(clippy::unnecessary_filter_map, reason = "a filter would keep the lifetime")]
            let nodes = nodes.into_iter().filter_map(|_| None).collect();
            let _ = SPARE.try_with(|spare| spare.set(Some(Memory { nodes, form })));
        }
    }
}

impl<'e> Walk<'e> {
    fn all(&mut self, wanted: &[&'e Var]) -> Option<()> {
        self.form.words.push(current_device().index() as u64);
        let mut numbers: SmallVec<[u64; 8]> = SmallVec::new();
        for var in wanted {
            numbers.push(self.visit(var)?.into());
        }
        self.controls.finish(&mut self.form.words);
        self.form.words.push(WANTED | (numbers.len() as u64) << 16);
        self.form.words.extend_from_slice(&numbers);
        Some(())
    }

    /// Numbers a wanted node and those behind it.
    fn visit(&mut self, wanted: &'e Var) -> Option<u32> {
        // It may be wanted twice by one reference, which is no reason for it to be shared.
        if let Some(number) = self.numbers.get(wanted.address()) {
            return Some(number);
        }
        let number = match self.known(wanted) {
            Known::Number(number) => number,
            Known::Computed => self.compute(wanted)?,
            // Only its results are wanted.
            Known::Control | Known::Unsupported => return None,
        };
        self.numbers.insert(wanted.address(), number);
        Some(number)
    }

    /// Numbers a node that a kernel computes, after its operands.
    fn compute(&mut self, var: &'e Var) -> Option<u32> {
        let mut frame = Frame::of(var);
        loop {
            let is_complete = frame.slot == frame.slots;
            let number = match (is_complete, frame.parts == PLAIN) {
                (false, true) => {
                    let operand = self.edges.operand(frame.var, frame.slot as usize);
                    self.advance(&mut frame, operand, |_, frame, number| frame.take(number))?;
                    continue;
                }
                (false, false) => {
                    self.part(&mut frame)?;
                    continue;
                }
                (true, true) => self.finish(&frame)?,
                (true, false) => self.finish_control(&frame)?,
            };
            let Some(user) = self.stack.pop() else { return Some(number) };
            frame = user;
            match frame.parts {
                PLAIN => frame.take(Some(number)),
                _ => self.take_part(&mut frame, Some(number)),
            }
        }
    }

    /// Goes on with the next operand or part of a node, of which there may be none: its number is taken, or found
    /// first.
    #[inline(always)]
    fn advance(
        &mut self,
        frame: &mut Frame<'e>,
        next: Option<&'e Var>,
        take: impl FnOnce(&mut Self, &mut Frame<'e>, Option<u32>),
    ) -> Option<()> {
        let Some(next) = next else {
            take(self, frame, None);
            return Some(());
        };
        match self.known(next) {
            Known::Number(number) => take(self, frame, Some(number)),
            Known::Computed => self.stack.push(std::mem::replace(frame, Frame::of(next))),
            Known::Control => {
                let control = self.begin_control(next)?;
                self.stack.push(std::mem::replace(frame, control));
            }
            Known::Unsupported => return None,
        }
        Some(())
    }

    /// Returns the number of a node that was visited before, or that has no operands.
    #[inline(always)]
    fn known(&mut self, var: &'e Var) -> Known {
        // A node with one owner, which is the operand, is found only once.
        let is_shared = var.count() != 1;
        if is_shared && let Some(number) = self.numbers.get(var.address()) {
            return Known::Number(number);
        }
        match var.op() {
            Op::Literal | Op::Scalar => {}
            Op::Loop | Op::Branch | Op::Switch => return Known::Control,
            Op::Scatter | Op::LibraryCall => return Known::Unsupported,
            _ if var.word() != 0 => {}
            Op::Broadcast | Op::Identity | Op::Cast | Op::Bitcast | Op::Unary(_) => return Known::Computed,
            Op::Binary(_) | Op::Fma | Op::Compare(_) | Op::Select | Op::Gather | Op::Reduce(_) => {
                return Known::Computed;
            }
            Op::LoopResult | Op::BranchResult | Op::SwitchResult => return Known::Computed,
            // It got its number when its loop was found.
            Op::Param => return self.numbers.get(var.address()).map_or(Known::Unsupported, Known::Number),
            Op::LaneIndex => {}
            _ => return Known::Unsupported,
        }
        self.leaf(var, code_of(var), is_shared)
    }

    /// Numbers a node without operands.
    #[inline(never)]
    fn leaf(&mut self, var: &'e Var, code: u64, is_shared: bool) -> Known {
        if code == Op::Literal.code() {
            self.form.literals.push(var.word() & var.ty().bit_mask());
        }
        let Some(head) = self.head(var, code) else { return Known::Unsupported };
        self.form.words.push(head);
        self.add(var, is_shared).map_or(Known::Unsupported, Known::Number)
    }

    /// Numbers a node whose operands have numbers.
    #[inline(always)]
    fn finish(&mut self, frame: &Frame<'e>) -> Option<u32> {
        let Frame { var, mut operands, .. } = *frame;
        let region = match var.flags() & (UNSUPPORTED | flag::PINNED) {
            0 => 0,
            flag::PINNED => self.controls.region(var.region())?,
            _ => return None,
        };
        if var.was_computed() {
            self.computed.push(var);
        }
        let op = var.op();
        let head = self.head(var, op.code())? | region << REGION_BIT;
        match op {
            Op::Reduce(_) => operands |= self.width(u32::try_from(var.position()).ok()?)? << (3 * OPERAND_BITS),
            Op::LoopResult | Op::BranchResult | Op::SwitchResult if var.position() < MAX_RESULTS => {
                operands |= (var.position() as u64) << (3 * OPERAND_BITS);
            }
            Op::LoopResult | Op::BranchResult | Op::SwitchResult => return None,
            _ => {}
        }
        self.form.words.reserve(2);
        self.form.words.push(head);
        self.form.words.push(operands);
        self.add(var, var.count() != 1)
    }

    #[inline(always)]
    fn add(&mut self, var: &'e Var, is_shared: bool) -> Option<u32> {
        let number = self.nodes.len();
        self.nodes.push(var);
        if is_shared {
            self.numbers.insert(var.address(), number as u32);
        }
        (number < MAX_NODES).then_some(number as u32)
    }

    /// Returns the word for the operation, the element type and the width of a node.
    #[inline(always)]
    fn head(&mut self, var: &Var, code: u64) -> Option<u64> {
        let extent = var.extent();
        if extent.size != SizeId(0) || extent.lanes == 0 {
            return None;
        }
        Some(code | u64::from(var.ty() as u8) << 16 | self.width(extent.lanes)? << WIDTH_BIT)
    }

    /// Returns the number of a width.
    #[inline(always)]
    fn width(&mut self, lanes: u32) -> Option<u64> {
        // As most literals.
        if lanes == 1 {
            return Some(1);
        }
        if lanes != self.width.0 {
            self.width = (lanes, self.other_width(lanes));
        }
        (self.width.1 < MAX_WIDTHS as u64).then_some(self.width.1)
    }

    /// Returns the number of another width than the last one.
    #[inline(never)]
    fn other_width(&mut self, lanes: u32) -> u64 {
        let known = self.widths.iter().position(|&width| width == lanes);
        let number = known.unwrap_or_else(|| {
            self.widths.push(lanes);
            self.widths.len() - 1
        });
        number as u64
    }
}

impl<'e> Frame<'e> {
    #[inline]
    fn of(var: &'e Var) -> Frame<'e> {
        Frame { var, slot: 0, slots: var.op().slots() as u16, operands: 0, parts: PLAIN }
    }

    /// Enters the number of the next operand, if it exists.
    #[inline]
    fn take(&mut self, number: Option<u32>) {
        if let Some(number) = number {
            self.operands |= u64::from(number + 1) << (u32::from(self.slot) * OPERAND_BITS);
        }
        self.slot += 1;
    }
}
