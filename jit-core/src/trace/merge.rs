//! Targets of a call that do the same with different values become one.
//!
//! Instances of one type record graphs that differ in what the instance holds: constants, values of width 1, arrays to gather
//! from. Where all else is equal, one graph will do for them. It reads each value of width 1 from a table, at the lane's
//! target, and each array from all of them in a row.
//!
//! Targets with equal graphs are found by a hash that leaves such values out. Then the graphs of all members are walked at once, from
//! the results down: a step is a list of nodes, one of each member, so that values that happen to be equal in some members
//! do not matter. None of it recurses.

use std::ptr::NonNull;

use jit_runtime::config;
use jit_runtime::ir::{BinaryOp, Type};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::detach::{self, Edges};
use super::extent::Extent;
use super::loops::{control_node, result};
use super::node::{Draft, Extra, Node, Var, flag};
use super::op::Op;
use super::region::{self, BranchExtra, RegionId};
use super::{record, tables};

/// Targets with larger graphs are not compared, in nodes.
const MAX_NODES: usize = 4096;

/// A target as it was recorded.
pub(super) struct Member<'a> {
    /// The lanes that want it.
    pub(super) lanes: &'a Var,
    /// Those of them that reach the call.
    pub(super) mask: &'a Var,
    /// Its place in tables.
    pub(super) slot: usize,
    pub(super) values: Vec<Var>,
}

/// Several targets as one.
pub(super) struct Merged {
    steps: Vec<Step>,
    roots: Vec<usize>,
    slots: Vec<usize>,
}

/// One node of each member.
struct Step {
    nodes: Vec<Var>,
    kind: Kind,
    /// The steps that it needs.
    operands: Vec<usize>,
    /// The arrays that the members gather from.
    sources: Vec<Var>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    /// The lanes that want the target.
    Lanes,
    /// Those that reach the call.
    Mask,
    /// Of width 1, and known or in memory.
    Value,
    /// The same for all targets, or they are different.
    Fixed,
    /// An operation.
    Inner,
}

/// What the members of a call share.
struct Context<'e> {
    edges: &'e Edges,
    /// Nodes that all targets share, behind which nobody looks.
    shared: FxHashSet<NonNull<Node>>,
}

/// The targets that can be merged: for each list of more than one, the merged target.
pub(super) fn groups(members: &[Member<'_>], shared: &[&Var]) -> Vec<(Vec<usize>, Option<Merged>)> {
    let edges = detach::read();
    let context = Context { edges: &edges, shared: shared.iter().map(|var| var.address()).collect() };
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut by_hash: FxHashMap<u64, usize> = FxHashMap::default();
    for (position, member) in members.iter().enumerate() {
        match context.hash(member) {
            Some(hash) => {
                let group = *by_hash.entry(hash).or_insert(groups.len());
                if group == groups.len() {
                    groups.push(Vec::new());
                }
                groups[group].push(position);
            }
            None => groups.push(vec![position]),
        }
    }
    let merge = |group: Vec<usize>| match group.len() {
        1 => vec![(group, None)],
        _ => match context.merge(&group.iter().map(|&position| &members[position]).collect::<Vec<_>>()) {
            Some(merged) => vec![(group, Some(merged))],
            None => group.into_iter().map(|position| (vec![position], None)).collect(),
        },
    };
    groups.into_iter().flat_map(merge).collect()
}

/// One step of a hash.
fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl<'e> Context<'e> {
    fn kind(&self, var: &Var, member: &Member<'_>) -> Kind {
        use Op::{Binary, Bitcast, Branch, BranchResult, Broadcast, Cast, Compare, Fma, Gather, Select, Unary};
        if var.is_same(member.mask) {
            return Kind::Mask;
        }
        if var.is_same(member.lanes) {
            return Kind::Lanes;
        }
        match var.op() {
            _ if self.shared.contains(&var.address()) => Kind::Fixed,
            _ if var.is_evaluated() && var.width() == 1 => Kind::Value,
            _ if var.is_evaluated() => Kind::Fixed,
            Broadcast | Cast | Bitcast | Unary(_) | Binary(_) | Fma | Compare(_) | Select => Kind::Inner,
            Gather | BranchResult | Branch => Kind::Inner,
            _ => Kind::Fixed,
        }
    }

    /// The operands of an operation that are values of the lane.
    fn operands(&self, var: &'e Var) -> SmallVec<[&'e Var; 4]> {
        match var.extra() {
            Some(Extra::Branch(extra)) => {
                [&extra.condition].into_iter().chain(extra.results.iter().flatten()).collect()
            }
            _ => (usize::from(var.op() == Op::Gather)..var.op().slots())
                .filter_map(|slot| self.edges.operand(var, slot))
                .collect(),
        }
    }

    /// The array that is gathered from.
    fn source(&self, var: &'e Var) -> Option<&'e Var> {
        if var.op() == Op::Gather { self.edges.operand(var, 0) } else { None }
    }

    /// Whether arrays that differ by target can be joined.
    fn can_be_joined(&self, source: &Var) -> bool {
        // In a joined array an index that is out of range is not noticed.
        source.has_data() && !self.shared.contains(&source.address()) && !config::is_debug_on()
    }

    /// A hash of what a target computes, whatever the values are that it computes it with.
    fn hash(&self, member: &'e Member<'_>) -> Option<u64> {
        let mut done: FxHashMap<NonNull<Node>, u64> = FxHashMap::default();
        let mut pending: Vec<&'e Var> = member.values.iter().collect();
        while let Some(&var) = pending.last() {
            if done.contains_key(&var.address()) {
                pending.pop();
                continue;
            }
            let kind = self.kind(var, member);
            let operands = if kind == Kind::Inner { self.operands(var) } else { SmallVec::new() };
            let missing: SmallVec<[&Var; 4]> =
                operands.iter().copied().filter(|operand| !done.contains_key(&operand.address())).collect();
            if missing.is_empty() {
                let operands = operands.iter().map(|operand| done[&operand.address()]);
                let hash = self.hash_node(var, kind, operands);
                done.insert(var.address(), hash);
                pending.pop();
            } else {
                pending.extend(missing);
            }
            if done.len() + pending.len() > MAX_NODES {
                return None;
            }
        }
        Some(member.values.iter().fold(0, |hash, var| mix(hash, done[&var.address()])))
    }

    fn hash_node(&self, var: &'e Var, kind: Kind, operands: impl Iterator<Item = u64>) -> u64 {
        let address = |var: &Var| var.address().addr().get() as u64;
        let hash = mix(kind as u64, var.ty() as u64);
        match kind {
            Kind::Lanes | Kind::Mask | Kind::Value => hash,
            Kind::Fixed => mix(hash, address(var)),
            Kind::Inner => {
                let hash = mix(hash, var.op().code() ^ (var.lanes() as u64) << 32 ^ u64::from(var.is_pinned()) << 31);
                let hash = if var.op() == Op::BranchResult { mix(hash, var.position() as u64) } else { hash };
                let hash = match self.source(var) {
                    Some(source) if self.can_be_joined(source) => mix(hash, 1),
                    Some(source) => mix(hash, address(source)),
                    None => hash,
                };
                operands.fold(hash, mix)
            }
        }
    }

    /// Walks the graphs of targets together; none if they differ in more than values.
    fn merge(&self, members: &[&'e Member<'_>]) -> Option<Merged> {
        let mut walk = Walk { context: self, members, steps: Vec::new(), numbers: FxHashMap::default() };
        let count = members[0].values.len();
        let roots = (0..count).map(|root| walk.run(members.iter().map(|member| &member.values[root]).collect()));
        let roots = roots.collect::<Option<Vec<usize>>>()?;
        Some(Merged { steps: walk.steps, roots, slots: members.iter().map(|member| member.slot).collect() })
    }
}

/// One node of each member.
type Nodes<'e> = Vec<&'e Var>;

struct Walk<'a, 'e> {
    context: &'a Context<'e>,
    members: &'a [&'e Member<'a>],
    steps: Vec<Step>,
    numbers: FxHashMap<Vec<NonNull<Node>>, usize>,
}

fn key(nodes: &[&Var]) -> Vec<NonNull<Node>> {
    nodes.iter().map(|var| var.address()).collect()
}

impl<'e> Walk<'_, 'e> {
    fn run(&mut self, root: Nodes<'e>) -> Option<usize> {
        let mut pending = vec![root.clone()];
        while let Some(nodes) = pending.last() {
            if self.numbers.contains_key(&key(nodes)) {
                pending.pop();
                continue;
            }
            let nodes = nodes.clone();
            let kind = self.kind(&nodes)?;
            let operands = if kind == Kind::Inner { self.operands(&nodes)? } else { Vec::new() };
            let missing: Vec<Nodes<'e>> =
                operands.iter().filter(|operand| !self.numbers.contains_key(&key(operand))).cloned().collect();
            if missing.is_empty() {
                self.finish(&nodes, kind, &operands)?;
                pending.pop();
            } else {
                pending.extend(missing);
            }
            if self.steps.len() + pending.len() > MAX_NODES {
                return None;
            }
        }
        self.numbers.get(&key(&root)).copied()
    }

    /// What the nodes of all members are.
    fn kind(&self, nodes: &[&'e Var]) -> Option<Kind> {
        let first = nodes[0];
        let kind = self.context.kind(first, self.members[0]);
        if nodes.iter().all(|var| var.is_same(first)) && !matches!(kind, Kind::Lanes | Kind::Mask) {
            return Some(Kind::Fixed);
        }
        let is_alike = |var: &&Var| match kind {
            Kind::Lanes | Kind::Mask => true,
            Kind::Value => var.ty() == first.ty(),
            Kind::Fixed => false,
            Kind::Inner => {
                let (op, ty, width, is_pinned) = (var.op(), var.ty(), var.width(), var.is_pinned());
                let is_same_position = op != Op::BranchResult || var.position() == first.position();
                (op, ty, width, is_pinned) == (first.op(), first.ty(), first.width(), first.is_pinned())
                    && is_same_position
            }
        };
        let mut all = nodes.iter().zip(self.members);
        all.all(|(var, member)| self.context.kind(var, member) == kind && is_alike(var)).then_some(kind)
    }

    /// For each operand, those of all members.
    fn operands(&self, nodes: &[&'e Var]) -> Option<Vec<Nodes<'e>>> {
        let operands: Vec<_> = nodes.iter().map(|var| self.context.operands(var)).collect();
        let count = operands[0].len();
        if operands.iter().any(|operands| operands.len() != count) {
            return None;
        }
        Some((0..count).map(|position| operands.iter().map(|operands| operands[position]).collect()).collect())
    }

    fn finish(&mut self, nodes: &[&'e Var], kind: Kind, operands: &[Nodes<'e>]) -> Option<()> {
        let mut sources = Vec::new();
        if kind == Kind::Inner && nodes[0].op() == Op::Gather {
            sources = nodes.iter().map(|var| self.context.source(var).cloned()).collect::<Option<Vec<Var>>>()?;
            let is_one = sources.iter().all(|source| source.is_same(&sources[0]));
            if !is_one && !sources.iter().all(|source| self.context.can_be_joined(source)) {
                return None;
            }
        }
        let operands = operands.iter().map(|operand| self.numbers[&key(operand)]).collect();
        self.numbers.insert(key(nodes), self.steps.len());
        let nodes = if kind == Kind::Fixed { vec![nodes[0].clone()] } else { nodes.iter().copied().cloned().collect() };
        self.steps.push(Step { nodes, kind, operands, sources });
        Some(())
    }
}

/// The lanes of a merged target.
pub(super) struct Lanes<'a> {
    pub(super) lanes: &'a Var,
    pub(super) mask: &'a Var,
    /// The place of each lane's target in tables.
    pub(super) slot: &'a Var,
    /// The length of tables.
    pub(super) span: usize,
}

impl Merged {
    /// Records the merged target; none if its values cannot be put into tables.
    pub(super) fn record(&self, lanes: &Lanes<'_>) -> Option<Vec<Var>> {
        let mut done: Vec<Var> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let value = match step.kind {
                Kind::Lanes => lanes.lanes.clone(),
                Kind::Mask => lanes.mask.clone(),
                Kind::Fixed => step.nodes[0].clone(),
                Kind::Value => self.read_table(&step.nodes, lanes)?,
                Kind::Inner => {
                    let operands: SmallVec<[&Var; 4]> = step.operands.iter().map(|&operand| &done[operand]).collect();
                    self.operation(step, &operands, lanes)?
                }
            };
            done.push(value);
        }
        Some(self.roots.iter().map(|&root| done[root].clone()).collect())
    }

    /// The value of each lane's target.
    fn read_table(&self, values: &[Var], lanes: &Lanes<'_>) -> Option<Var> {
        let placed: Vec<(usize, Var)> = self.slots.iter().copied().zip(values.iter().cloned()).collect();
        let table = tables::table(values[0].ty(), &placed, lanes.span)?;
        Some(record::gather_node(&table, lanes.slot, Some(lanes.mask), 0, RegionId::NONE))
    }

    fn operation(&self, step: &Step, operands: &[&Var], lanes: &Lanes<'_>) -> Option<Var> {
        let var = &step.nodes[0];
        let mut width =
            operands.iter().map(|operand| operand.extent()).find(|width| width.lanes != 1).unwrap_or(Extent::ONE);
        let mut region = operands.iter().map(|operand| operand.region()).max().unwrap_or(RegionId::NONE);
        match var.op() {
            Op::Gather => return self.gather(step, operands, lanes),
            Op::Broadcast if operands[0].width() == var.width() => return Some(operands[0].clone()),
            Op::Broadcast => width = var.extent(),
            Op::BranchResult => {
                return Some(result(
                    var.op(),
                    operands[0],
                    var.ty(),
                    operands[0].extent(),
                    var.position(),
                    region,
                    var.site(),
                ));
            }
            Op::Branch => {
                let results = operands[1..].chunks_exact(2).map(|pair| [pair[0].clone(), pair[1].clone()]).collect();
                let extra = Extra::Branch(BranchExtra { condition: operands[0].clone(), results });
                return Some(control_node(
                    Op::Branch,
                    if width.lanes > 1 { width } else { var.extent() },
                    extra,
                    region,
                    var.site(),
                ));
            }
            _ => {}
        }
        let flags = if var.is_pinned() { flag::PINNED } else { 0 };
        if var.is_pinned() {
            region = region.max(region::innermost_body());
        }
        let mut slots = [None; 3];
        operands.iter().zip(&mut slots).for_each(|(operand, slot)| *slot = Some(*operand));
        let (op, ty, site) = (var.op(), var.ty(), var.site());
        Some(Draft { op, ty, width, region, flags, operands: slots, position: 0, word: 0, site }.number())
    }

    /// Reads from the array of each lane's target.
    fn gather(&self, step: &Step, operands: &[&Var], lanes: &Lanes<'_>) -> Option<Var> {
        let (var, mask) = (&step.nodes[0], operands.get(1).copied());
        let (flags, pinned) =
            if var.is_pinned() { (flag::PINNED, region::innermost_body()) } else { (0, RegionId::NONE) };
        if step.sources.iter().all(|source| source.is_same(&step.sources[0])) {
            return Some(record::gather_node(&step.sources[0], operands[0], mask, flags, pinned));
        }
        let mut sources: Vec<Var> = Vec::new();
        let mut ends: FxHashMap<NonNull<Node>, u64> = FxHashMap::default();
        let mut end = 0;
        let mut begin_of = |source: &Var| {
            *ends.entry(source.address()).or_insert_with(|| {
                sources.push(source.clone());
                end += source.lanes() as u64;
                end - source.lanes() as u64
            })
        };
        let begins: Vec<u64> = step.sources.iter().map(&mut begin_of).collect();
        let joined = tables::joined(&sources)?;
        let begins: Vec<Var> = begins.into_iter().map(|begin| record::literal(Type::U32, begin, 1)).collect();
        let begin = self.read_table(&begins, lanes)?;
        let index = record::binary(BinaryOp::Add, &record::cast(Type::U32, operands[0]), &begin);
        Some(record::gather_node(&joined, &index, mask, flags, pinned))
    }
}
