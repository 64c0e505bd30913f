//! A trace that was found, as a pattern for the next one.
//!
//! A program that is traced again is compared with the last trace of its line, node by node, which takes less than
//! describing it. The comparison goes from the wanted nodes to the leaves: all users of a node come before it, so it is
//! known from their operands when its turn comes. Nodes and numbers must correspond one to one, and widths and their
//! numbers, too; then the walk that describes a trace would number these nodes in this order, and write the same words.
//!
//! Only straight-line traces have a pattern: those without loops, branches and switches.

use jit_runtime::device::current_device;
use jit_runtime::ir::Type;
use jit_runtime::recording::SizeId;
use smallvec::SmallVec;

use super::{
    Form, IN_MEMORY, OPERAND_BITS, REGION_BIT, Trace, UNSUPPORTED, WANTED, WIDTH_BIT, code_of, has_operands,
    take_memory,
};
use crate::graph::Var;
use crate::graph::edges::Edges;
use crate::graph::node::flag;
use crate::graph::op::Op;
use crate::schedule::map::NodeMap;

/// The number of nodes from which on a trace has no pattern.
const MAX_NODES: usize = 1 << 14;

/// A trace without its nodes.
pub(in crate::schedule) struct Pattern {
    device: u64,
    nodes: Box<[Expected]>,
    /// The number of literals among them.
    literals: usize,
    /// The numbers of the wanted nodes.
    wanted: SmallVec<[u32; 4]>,
}

/// What the words of a trace say of a node.
struct Expected {
    /// Of a node in memory, whatever it was when the pattern was made.
    op: Op,
    ty: Type,
    is_in_memory: bool,
    /// The number of its width.
    width: u8,
    /// The number of its operand slots, if it has operands.
    slots: u8,
    /// The numbers of the operands, plus one, and the number of a width; 0 for a leaf.
    operands: u64,
}

impl Pattern {
    /// Returns the pattern of a trace, if it has one.
    pub(in crate::schedule) fn of(trace: &Trace<'_>) -> Option<Pattern> {
        if trace.nodes.len() >= MAX_NODES || !trace.computed.is_empty() {
            return None;
        }
        let (&device, mut words) = trace.form.words.split_first()?;
        let mut next = || {
            let (&word, rest) = words.split_first()?;
            words = rest;
            Some(word)
        };
        let mut nodes = Vec::with_capacity(trace.nodes.len());
        for var in &trace.nodes {
            let head = next().filter(|head| head >> REGION_BIT == 0 && is_straight(head & 0xffff))?;
            let is_in_memory = head & 0xffff == IN_MEMORY;
            let (operands, slots) = if has_operands(head & 0xffff) { (next()?, var.op().slots()) } else { (0, 0) };
            let (op, ty, width) = (var.op(), var.ty(), (head >> WIDTH_BIT) as u8);
            nodes.push(Expected { op, ty, is_in_memory, width, slots: slots as u8, operands });
        }
        let count = next().filter(|word| word & 0xffff == WANTED)? >> 16;
        let wanted: SmallVec<[u32; 4]> = words.iter().map(|&number| number as u32).collect();
        let literals = trace.form.literals.len();
        (wanted.len() as u64 == count).then(|| Pattern { device, nodes: nodes.into(), literals, wanted })
    }

    /// Returns the trace of the wanted nodes, without its words, if they are equal to those of the pattern.
    pub(in crate::schedule) fn trace_of<'e>(&self, edges: &'e Edges, wanted: &[&'e Var]) -> Option<Trace<'e>> {
        if self.device != current_device().index() as u64 || self.wanted.len() != wanted.len() {
            return None;
        }
        let (nodes, mut form) = take_memory();
        let mut nodes: Vec<Option<&'e Var>> = nodes.into_iter().map(Some).collect();
        nodes.resize(self.nodes.len(), None);
        form.literals.resize(self.literals, 0);
        let mut comparison = Comparison { edges, nodes, found: NodeMap::take(), widths: Widths::default(), form };
        let is_equal = comparison.compare(self, wanted).is_some();
        let Comparison { nodes, found, form, .. } = comparison;
        found.give_back();
        // Each node is there: it is wanted, or an operand of another one.
        let nodes = nodes.into_iter().map_while(|node| node).collect();
        let trace = Trace { nodes, form, computed: Vec::new() };
        is_equal.then_some(trace)
    }
}

/// Whether an operation occurs in patterns.
fn is_straight(code: u64) -> bool {
    let results = [Op::Param, Op::LoopResult, Op::BranchResult, Op::SwitchResult];
    let controls = [Op::Loop, Op::Branch, Op::Switch];
    results.iter().chain(&controls).all(|op| op.code() != code)
}

/// A comparison in progress.
struct Comparison<'e> {
    edges: &'e Edges,
    /// The nodes by their numbers, as far as they are known.
    nodes: Vec<Option<&'e Var>>,
    /// Those that may be found again, under another number.
    found: NodeMap,
    widths: Widths,
    form: Form,
}

impl<'e> Comparison<'e> {
    /// Goes through the nodes; returns `None` at the first difference.
    fn compare(&mut self, pattern: &Pattern, wanted: &[&'e Var]) -> Option<()> {
        for (&number, &var) in pattern.wanted.iter().zip(wanted) {
            if var.flags() & UNSUPPORTED != 0 {
                return None;
            }
            // It may be wanted twice by one reference.
            self.number_alone(var, number)?;
            self.meet(number, var)?;
        }
        let mut literals = pattern.literals;
        for (number, expected) in pattern.nodes.iter().enumerate().rev() {
            let var = self.nodes[number]?;
            self.compare_node(var, expected)?;
            // A node with one owner, which is the operand, is found only once.
            if var.count() != 1 {
                self.number_alone(var, number as u32)?;
            }
            if expected.slots != 0 {
                self.compare_computed(var, expected)?;
            } else if expected.op == Op::Literal {
                literals = literals.checked_sub(1)?;
                self.form.literals[literals] = var.word() & var.ty().bit_mask();
            }
        }
        (literals == 0).then_some(())
    }

    /// Notes that no other number is that of a node.
    #[inline(always)]
    fn number_alone(&mut self, var: &Var, number: u32) -> Option<()> {
        (self.found.get_or_insert(var.address(), number) == number).then_some(())
    }

    /// Notes which node has a number.
    #[inline(always)]
    fn meet(&mut self, number: u32, var: &'e Var) -> Option<()> {
        let node = self.nodes.get_mut(number as usize)?;
        match *node {
            Some(known) => known.is_same(var).then_some(()),
            None => {
                *node = Some(var);
                Some(())
            }
        }
    }

    /// Compares what every node has with what is expected.
    #[inline(always)]
    fn compare_node(&mut self, var: &Var, expected: &Expected) -> Option<()> {
        let (op, extent) = (var.op(), var.extent());
        let is_same_operation = match expected.is_in_memory {
            true => code_of(var) == IN_MEMORY,
            false => op == expected.op && (var.word() == 0 || matches!(op, Op::Literal | Op::Scalar)),
        };
        let is_same = is_same_operation && var.ty() == expected.ty && extent.size == SizeId(0);
        (is_same && self.widths.is_same(expected.width.into(), extent.lanes)).then_some(())
    }

    /// Compares what nodes with operands have besides, and meets these.
    #[inline(always)]
    fn compare_computed(&mut self, var: &'e Var, expected: &Expected) -> Option<()> {
        let is_plain = var.flags() & (UNSUPPORTED | flag::PINNED) == 0 && !var.was_computed();
        is_plain.then_some(())?;
        if matches!(expected.op, Op::Reduce(_)) {
            let block = u32::try_from(var.position()).ok()?;
            self.widths.is_same(expected.operands >> (3 * OPERAND_BITS), block).then_some(())?;
        }
        let mut operands = expected.operands;
        for slot in 0..usize::from(expected.slots) {
            let number = operands as u32 & ((1 << OPERAND_BITS) - 1);
            operands >>= OPERAND_BITS;
            match (number.checked_sub(1), self.edges.operand(var, slot)) {
                (Some(number), Some(operand)) => self.meet(number, operand)?,
                (None, None) => {}
                _ => return None,
            }
        }
        Some(())
    }
}

/// The widths of a trace by their numbers. Those of 0 and 1 are these.
struct Widths {
    /// 0 if it is not known.
    lanes: SmallVec<[u32; 8]>,
    /// The last number, and its width.
    last: (u64, u32),
}

impl Default for Widths {
    fn default() -> Widths {
        Widths { lanes: SmallVec::new(), last: (1, 1) }
    }
}

impl Widths {
    /// Whether a number stands for this width, which it does from now on if it is new.
    #[inline(always)]
    fn is_same(&mut self, number: u64, lanes: u32) -> bool {
        if number <= 1 || lanes <= 1 {
            return number == u64::from(lanes);
        }
        (number, lanes) == self.last || self.is_same_as_before(number, lanes)
    }

    #[inline(never)]
    fn is_same_as_before(&mut self, number: u64, lanes: u32) -> bool {
        self.last = (number, lanes);
        let number = number as usize;
        if self.lanes.len() <= number {
            self.lanes.resize(number + 1, 0);
        }
        if self.lanes[number] == 0 && !self.lanes.contains(&lanes) {
            self.lanes[number] = lanes;
        }
        self.lanes[number] == lanes
    }
}

#[cfg(test)]
mod tests {
    use jit_runtime::ir::{BinaryOp, CompareOp, ReduceOp};

    use super::*;
    use crate::array::{Array, UInt};
    use crate::evaluate::eval;
    use crate::graph::edges;
    use crate::size::Size;
    use crate::trace::record::{binary, block_reduce_node, compare, lane_index, literal, reduce_node, select};

    /// The wanted nodes of a program.
    type Wanted = Vec<Var>;

    fn data(width: u32, seed: u32) -> Var {
        let array: UInt = Array::from((0..width).map(|lane| seed + lane).collect::<Vec<u32>>());
        eval(&array).expect("memory");
        array.var().clone()
    }

    /// Values of one element type and three widths; pairs of them are not of two different ones.
    fn leaves() -> Vec<Var> {
        vec![data(4, 7), data(4, 9), data(5, 1), lane_index(4), literal(Type::U32, 3, 1), literal(Type::U32, 5, 1)]
    }

    /// Pairs of values that fit each other.
    fn pairs(values: &[Var]) -> impl Iterator<Item = (&Var, &Var)> {
        let fit = |a: &Var, b: &Var| a.lanes() == b.lanes() || a.lanes() == 1 || b.lanes() == 1;
        values.iter().flat_map(move |a| values.iter().filter(move |b| fit(a, b)).map(move |b| (a, b)))
    }

    fn combined(a: &Var, b: &Var) -> Vec<Var> {
        let mut results: Vec<Var> = [BinaryOp::Add, BinaryOp::Sub].map(|op| binary(op, a, b)).into();
        results.push(select(&compare(CompareOp::Lt, a, b), a, b));
        results
    }

    /// All programs of two operations on the leaves, a part of them with other wanted nodes, and reductions.
    fn programs() -> Vec<Wanted> {
        let leaves = leaves();
        let mut programs = vec![vec![leaves[3].clone()], vec![leaves[3].clone(), lane_index(5)]];
        for (a, b) in pairs(&leaves) {
            for first in combined(a, b) {
                programs.push(vec![reduce_node(ReduceOp::Max, &first)]);
                let blocks = [2, 3, 4].map(|block| block_reduce_node(ReduceOp::Add, &first, Size::from(block)));
                programs.extend(blocks.map(|sums| vec![sums]));
                let values = [first.clone(), a.clone(), leaves[1].clone()];
                for (c, d) in pairs(&values) {
                    let second = binary(BinaryOp::Xor, c, d);
                    programs.push(vec![second.clone(), first.clone()]);
                    programs.push(vec![first.clone(), second.clone()]);
                    programs.push(vec![second.clone(), second.clone()]);
                    programs.push(vec![second]);
                }
            }
        }
        programs
    }

    fn references(wanted: &Wanted) -> Vec<&Var> {
        wanted.iter().collect()
    }

    /// The words, the literals and the nodes of a trace.
    fn described<'e>(edges: &'e Edges, wanted: &'e Wanted) -> Option<(Vec<u64>, Vec<u64>, Vec<&'e Var>)> {
        let trace = Trace::of(edges, &references(wanted))?;
        Some((trace.key().words.to_vec(), trace.key().literals.to_vec(), trace.nodes().to_vec()))
    }

    #[test]
    fn a_pattern_is_equal_to_those_traces_whose_words_are_equal() {
        let (programs, edges) = (programs(), edges::read());
        let described = |wanted| described(&edges, wanted);
        let (mut equal, mut different) = (0, 0);
        for pattern_of in programs.iter().step_by(23) {
            let Some((words, ..)) = described(pattern_of) else { continue };
            let trace = Trace::of(&edges, &references(pattern_of)).expect("it has just been described");
            let pattern = Pattern::of(&trace).expect("it has neither loops nor branches");
            drop(trace);
            for wanted in &programs {
                let found = pattern.trace_of(&edges, &references(wanted));
                match described(wanted).filter(|(other, ..)| *other == words) {
                    None => {
                        different += 1;
                        assert!(found.is_none(), "another trace is taken for an equal one");
                    }
                    Some((_, literals, nodes)) => {
                        equal += 1;
                        let found = found.expect("the words are equal");
                        assert_eq!(found.key().literals, literals);
                        let mut pairs = found.nodes().iter().zip(&nodes);
                        assert!(found.nodes().len() == nodes.len() && pairs.all(|(a, b)| a.is_same(b)));
                    }
                }
            }
        }
        assert!(equal > 1000 && different > 100_000, "{equal} equal, {different} different");
    }

    /// Whether a pattern of some nodes is equal to the trace of others; the words of the two must agree with it.
    fn is_equal(pattern_of: &[&Var], wanted: &[&Var]) -> bool {
        let edges = edges::read();
        let trace = Trace::of(&edges, pattern_of).expect("a trace");
        let (words, pattern) = (trace.key().words.to_vec(), Pattern::of(&trace).expect("a pattern"));
        drop(trace);
        let is_equal = pattern.trace_of(&edges, wanted).is_some();
        assert_eq!(is_equal, Trace::of(&edges, wanted).is_some_and(|trace| trace.key().words == words));
        is_equal
    }

    #[test]
    fn nodes_that_differ_only_in_their_state_or_type_are_different() {
        let (x, y) = (data(4, 7), data(4, 9));
        assert!(is_equal(&[&x, &y], &[&y, &x]) && !is_equal(&[&x, &y], &[&x, &x]) && !is_equal(&[&x, &x], &[&x, &y]));
        let signed: Array<i32> = Array::from(vec![1, 2, 3, 4]);
        eval(&signed).expect("memory");
        let sum = |a: &Var| binary(BinaryOp::Add, a, a);
        assert!(!is_equal(&[&sum(&x)], &[&sum(signed.var())]) && is_equal(&[&sum(&x)], &[&sum(&y)]));
        let program = |a: &Var| {
            let first = UInt::from_var(binary(BinaryOp::Mul, a, a));
            let second = binary(BinaryOp::Add, first.var(), a);
            (first, second)
        };
        let ((first, second), (other, of_other)) = (program(&x), program(&y));
        assert!(is_equal(&[&second], &[&of_other]));
        let edges = edges::read();
        let pattern = Pattern::of(&Trace::of(&edges, &[&second]).expect("a trace")).expect("a pattern");
        drop(edges);
        eval(&other).expect("memory");
        assert!(pattern.trace_of(&edges::read(), &[&of_other]).is_none(), "a part of it is in memory");
        assert!(pattern.trace_of(&edges::read(), &[&second]).is_some());
        let elsewhere = jit_runtime::device::with_device(jit_runtime::config::Device::Interpreter, || {
            pattern.trace_of(&edges::read(), &[&second]).is_some()
        });
        assert_eq!(elsewhere, current_device() == jit_runtime::config::Device::Interpreter);
        drop(first);
    }
}
