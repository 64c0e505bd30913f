//! Merges targets of a call that perform the same operations on different values.
//!
//! Instances of one type record graphs that differ in the instance's data: constants, values of width 1, arrays to
//! gather from. If everything else is equal, one graph serves them all. It reads each value of width 1 from a table, at
//! the lane's target, and each array from the concatenation of all of them.
//!
//! Targets with equal graphs are found by a hash that leaves such values out. Then the graphs of all members are
//! visited together, from the results down. A step is a list of nodes, one of each member, so values that happen to be
//! equal in some members do not matter. The visit is not recursive. A loop of the targets is recorded anew, and so are
//! its parameters; loops are distinguished by the order in which the visit meets them. Loops that write to arrays, and
//! per-lane local memory, are not compared.

use std::ptr::NonNull;

use jit_runtime::config;
use jit_runtime::ir::{BinaryOp, Type};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::index_range::is_below;
use super::region::{self, BodyOnly, Mark};
use super::{activity, local, loops, record, tables};
use crate::graph::edges::{self, Edges};
use crate::graph::inputs::Role;
use crate::graph::node::{Draft, Node, Var, flag};
use crate::graph::op::Op;
use crate::graph::payload::{
    BranchPayload, LoopPayload, Payload, RegionId, State, SwitchPayload, control_node, result,
};
use crate::graph::tape;
use crate::size::extent::Extent;

/// Targets with larger graphs are not compared, in nodes.
const MAX_NODES: usize = 4096;

/// A target as it was recorded.
pub(super) struct Member<'a> {
    /// The lanes that call it.
    pub(super) lanes: &'a Var,
    /// The lanes among them that reach the call.
    pub(super) mask: &'a Var,
    /// Its position in tables.
    pub(super) slot: usize,
    pub(super) values: Vec<Var>,
}

/// Several targets as one.
pub(super) struct Merged {
    steps: Vec<Step>,
    roots: Vec<usize>,
    slots: Vec<usize>,
    /// The number of loops.
    loops: usize,
}

/// One node of each member.
struct Step {
    nodes: Vec<Var>,
    kind: Kind,
    /// The steps of its operands.
    operands: Vec<usize>,
    /// The arrays that the members gather from.
    sources: Vec<Var>,
    /// For a loop and its parameters, the number of the loop, outer loops before inner ones. For pinned nodes, that of
    /// the loop that they are in, if it is one of the target's.
    of: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    /// The lanes that call the target.
    Lanes,
    /// The lanes that reach the call.
    Mask,
    /// Of width 1, and known or in memory.
    Value,
    /// The parameter of a loop that the target runs.
    Param,
    /// The same for all targets; otherwise they are different.
    Fixed,
    /// An operation.
    Inner,
}

/// The common data of the members of a call.
struct Context<'e> {
    edges: &'e Edges,
    /// Nodes that all targets share; the visit stops there.
    shared: FxHashSet<NonNull<Node>>,
}

/// Finds the targets that can be merged: for each list of more than one, the merged target.
pub(super) fn groups(members: &[Member<'_>], shared: &[&Var]) -> Vec<(Vec<usize>, Option<Merged>)> {
    let edges = edges::read();
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
    fn kind(&self, var: &Var, member: &Member<'_>, loops: &Loops<'_>) -> Kind {
        use Op::{Binary, Bitcast, Branch, BranchResult, Broadcast, Cast, Compare, Fma, Gather, Select, Unary};
        use Op::{Loop, LoopResult, Param, Switch, SwitchResult};
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
            _ if local::is_local(var) => Kind::Fixed,
            Broadcast | Cast | Bitcast | Unary(_) | Binary(_) | Fma | Compare(_) | Select => Kind::Inner,
            Gather | BranchResult | Branch | LoopResult | SwitchResult => Kind::Inner,
            Loop | Switch if is_pure(var) => Kind::Inner,
            Param if loops.contains_key(&var.region()) => Kind::Param,
            _ => Kind::Fixed,
        }
    }

    /// Returns the initial state of a loop's parameter.
    fn init(var: &Var, loops: &Loops<'e>) -> Option<&'e Var> {
        let (_, node) = loops.get(&var.region())?;
        let Some(Payload::Loop(payload)) = node.payload() else { return None };
        payload.states.get(var.position()).map(|state| &state.init)
    }

    /// Returns the operands of an operation that are per-lane values.
    fn operands(&self, var: &'e Var, loops: &Loops<'e>) -> SmallVec<[&'e Var; 4]> {
        match var.payload() {
            _ if var.op() == Op::Param => Self::init(var, loops).into_iter().collect(),
            Some(payload) => {
                payload.inputs().filter(|(role, _)| *role != Role::Param).map(|(_, input)| input).collect()
            }
            _ => (usize::from(var.op() == Op::Gather)..var.op().slots())
                .filter_map(|slot| self.edges.operand(var, slot))
                .collect(),
        }
    }

    /// Returns the array that is gathered from.
    fn source(&self, var: &'e Var) -> Option<&'e Var> {
        if var.op() == Op::Gather { self.edges.operand(var, 0) } else { None }
    }

    /// Returns whether arrays that differ by target can be joined.
    fn can_be_joined(&self, source: &Var) -> bool {
        // In a joined array an out-of-range index cannot be reported.
        source.has_data() && !self.shared.contains(&source.address()) && !config::is_debug_on()
    }

    /// Returns a hash of a target's operations, independent of the values.
    fn hash(&self, member: &'e Member<'_>) -> Option<u64> {
        let mut done: FxHashMap<NonNull<Node>, u64> = FxHashMap::default();
        let mut loops = Loops::default();
        let mut pending: Vec<&'e Var> = member.values.iter().collect();
        while let Some(&var) = pending.last() {
            if done.contains_key(&var.address()) {
                pending.pop();
                continue;
            }
            let kind = self.kind(var, member, &loops);
            note_loop(&mut loops, var, kind);
            let operands = if kind.has_operands() { self.operands(var, &loops) } else { SmallVec::new() };
            let missing: SmallVec<[&Var; 4]> =
                operands.iter().copied().filter(|operand| !done.contains_key(&operand.address())).collect();
            if missing.is_empty() {
                let operands = operands.iter().map(|operand| done[&operand.address()]);
                let hash = self.hash_node(var, kind, operands, &loops);
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

    fn hash_node(&self, var: &'e Var, kind: Kind, operands: impl Iterator<Item = u64>, loops: &Loops<'e>) -> u64 {
        let address = |var: &Var| var.address().addr().get() as u64;
        let hash = mix(kind as u64, var.ty() as u64);
        match kind {
            Kind::Lanes | Kind::Mask | Kind::Value => hash,
            Kind::Fixed => mix(hash, address(var)),
            Kind::Param => {
                let hash = mix(hash, loops.get(&var.region()).map_or(0, |(number, _)| *number as u64));
                operands.fold(mix(hash, var.position() as u64), mix)
            }
            Kind::Inner => {
                let hash = mix(hash, var.op().code() ^ (var.lanes() as u64) << 32 ^ u64::from(var.is_pinned()) << 31);
                let hash = if is_result(var.op()) { mix(hash, var.position() as u64) } else { hash };
                let hash = match self.source(var) {
                    Some(source) if self.can_be_joined(source) => mix(hash, 1),
                    Some(source) => mix(hash, address(source)),
                    None => hash,
                };
                operands.fold(hash, mix)
            }
        }
    }

    /// Visits the graphs of targets together; `None` if they differ in more than values.
    fn merge(&self, members: &[&'e Member<'_>]) -> Option<Merged> {
        let loops = vec![Loops::default(); members.len()];
        let mut walk = Walk { context: self, members, steps: Vec::new(), numbers: FxHashMap::default(), loops };
        let count = members[0].values.len();
        let roots = (0..count).map(|root| walk.run(members.iter().map(|member| &member.values[root]).collect()));
        let roots = roots.collect::<Option<Vec<usize>>>()?;
        let (loops, slots) = (walk.loops[0].len(), members.iter().map(|member| member.slot).collect());
        Some(Merged { steps: walk.steps, roots, slots, loops })
    }
}

/// One node of each member.
type Nodes<'e> = Vec<&'e Var>;

struct Walk<'a, 'e> {
    context: &'a Context<'e>,
    members: &'a [&'e Member<'a>],
    steps: Vec<Step>,
    numbers: FxHashMap<Vec<NonNull<Node>>, usize>,
    /// The loops of each member.
    loops: Vec<Loops<'e>>,
}

/// The loops of a target that were visited, by region, each with a number: outer loops before inner ones.
type Loops<'e> = FxHashMap<RegionId, (usize, &'e Var)>;

fn note_loop<'e>(loops: &mut Loops<'e>, var: &'e Var, kind: Kind) {
    if let (Kind::Inner, Some(Payload::Loop(payload))) = (kind, var.payload()) {
        let number = loops.len();
        loops.entry(payload.id).or_insert((number, var));
    }
}

/// Returns whether a loop or switch only computes values of its lanes.
fn is_pure(var: &Var) -> bool {
    match var.payload() {
        Some(Payload::Loop(payload)) => {
            !payload.is_in_condition
                && !payload.states.iter().any(|state| state.is_memory || local::is_local(&state.init))
        }
        Some(Payload::Switch(payload)) => payload.checked.is_none(),
        _ => false,
    }
}

fn is_result(op: Op) -> bool {
    matches!(op, Op::BranchResult | Op::LoopResult | Op::SwitchResult)
}

/// Returns whether loops or switches have the same parts.
fn is_equivalent(a: &Var, b: &Var) -> bool {
    match (a.payload(), b.payload()) {
        (Some(Payload::Loop(a)), Some(Payload::Loop(b))) => {
            let changed =
                |payload: &LoopPayload| payload.states.iter().map(|state| state.next.is_some()).collect::<Vec<_>>();
            changed(a) == changed(b) && a.bound == b.bound
        }
        (Some(Payload::Switch(a)), Some(Payload::Switch(b))) => {
            (a.masks.len(), a.results.len()) == (b.masks.len(), b.results.len())
        }
        _ => true,
    }
}

impl Kind {
    fn has_operands(self) -> bool {
        matches!(self, Kind::Inner | Kind::Param)
    }
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
            // Before the operands: these belong to the loop, and are compared by its number.
            self.loops.iter_mut().zip(&nodes).for_each(|(loops, var)| note_loop(loops, var, kind));
            let operands = if kind.has_operands() { self.operands(&nodes)? } else { Vec::new() };
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

    /// Returns the common kind of the nodes of all members.
    fn kind(&self, nodes: &[&'e Var]) -> Option<Kind> {
        let first = nodes[0];
        let kind = self.context.kind(first, self.members[0], &self.loops[0]);
        // A node shared by all members needs no table. The lanes and masks of members are only nominally equal: the
        // merged target has its own.
        if nodes.iter().all(|var| var.is_same(first)) && !matches!(kind, Kind::Lanes | Kind::Mask) {
            return Some(Kind::Fixed);
        }
        let number = |(var, loops): (&&Var, &Loops<'_>)| loops.get(&var.region()).map(|(number, _)| *number);
        let mut numbers = nodes.iter().zip(&self.loops).map(number);
        // Each member recorded its own loops, with its own regions; they correspond by the order in which the visit
        // meets them.
        let is_one_loop = numbers.next().is_none_or(|first| numbers.all(|number| number == first));
        let is_like_first = |var: &&Var| match kind {
            Kind::Lanes | Kind::Mask => true,
            Kind::Value => var.ty() == first.ty(),
            Kind::Fixed => false,
            Kind::Param => is_one_loop && var.position() == first.position() && var.ty() == first.ty(),
            Kind::Inner => {
                let (op, ty, width, is_pinned) = (var.op(), var.ty(), var.width(), var.is_pinned());
                let is_same_position = !is_result(op) || var.position() == first.position();
                let is_one_loop = is_one_loop || !is_pinned;
                (op, ty, width, is_pinned) == (first.op(), first.ty(), first.width(), first.is_pinned())
                    && is_same_position
                    && is_one_loop
                    && is_equivalent(first, var)
            }
        };
        let mut all = nodes.iter().zip(self.members).zip(&self.loops);
        all.all(|((var, member), loops)| self.context.kind(var, member, loops) == kind && is_like_first(var))
            .then_some(kind)
    }

    /// Returns, for each operand, those of all members.
    fn operands(&self, nodes: &[&'e Var]) -> Option<Vec<Nodes<'e>>> {
        let operands: Vec<_> =
            nodes.iter().zip(&self.loops).map(|(var, loops)| self.context.operands(var, loops)).collect();
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
            // Different sources are read from one joined array, at an offset by lane; only arrays in memory can be
            // joined.
            if !is_one && !sources.iter().all(|source| self.context.can_be_joined(source)) {
                return None;
            }
        }
        let operands = operands.iter().map(|operand| self.numbers[&key(operand)]).collect();
        self.numbers.insert(key(nodes), self.steps.len());
        // A step owns the nodes, so the addresses in `numbers` stay valid; of equal ones, one is enough.
        let nodes = if kind == Kind::Fixed { vec![nodes[0].clone()] } else { nodes.iter().copied().cloned().collect() };
        let of = match nodes[0].payload() {
            Some(Payload::Loop(payload)) => self.loops[0].get(&payload.id),
            _ => self.loops[0].get(&nodes[0].region()),
        };
        let of = of.map(|(number, _)| *number);
        self.steps.push(Step { nodes, kind, operands, sources, of });
        Some(())
    }
}

/// The lanes of a merged target.
pub(super) struct Lanes<'a> {
    pub(super) lanes: &'a Var,
    pub(super) mask: &'a Var,
    /// The position of each lane's target in tables.
    pub(super) slot: &'a Var,
    /// The length of tables.
    pub(super) span: usize,
}

impl Merged {
    /// Records the merged target; returns `None` if its values cannot be put into tables.
    pub(super) fn record(&self, lanes: &Lanes<'_>) -> Option<Vec<Var>> {
        // Nodes of a loop can be used while the loop is open.
        let loops: Vec<BodyOnly> = (0..self.loops).map(|_| BodyOnly::open(lanes.lanes.site())).collect();
        self.record_steps(lanes, &loops.iter().map(|body| body.mark).collect::<Vec<_>>())
    }

    fn record_steps(&self, lanes: &Lanes<'_>, loops: &[Mark]) -> Option<Vec<Var>> {
        let mut done: Vec<Var> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let value = match step.kind {
                Kind::Lanes => lanes.lanes.clone(),
                Kind::Mask => lanes.mask.clone(),
                Kind::Fixed => step.nodes[0].clone(),
                Kind::Value => self.read_table(&step.nodes, lanes)?,
                Kind::Param => {
                    loops::param(loops[step.of?].id, step.nodes[0].position(), &done[*step.operands.first()?])
                }
                Kind::Inner => {
                    let operands: SmallVec<[&Var; 4]> = step.operands.iter().map(|&operand| &done[operand]).collect();
                    // The loop of the target that it is in, otherwise one around the call.
                    let pinned = step.of.map_or_else(|| self.around(loops), |number| loops[number].id);
                    match step.nodes[0].op() {
                        Op::Loop => self.record_loop(step, &done, loops)?,
                        _ => self.operation(step, &operands, lanes, pinned)?,
                    }
                }
            };
            done.push(value);
        }
        Some(self.roots.iter().map(|&root| done[root].clone()).collect())
    }

    /// Returns the value of each lane's target.
    fn read_table(&self, values: &[Var], lanes: &Lanes<'_>) -> Option<Var> {
        let placed: Vec<(usize, Var)> = self.slots.iter().copied().zip(values.iter().cloned()).collect();
        let table = tables::table(values[0].ty(), &placed, lanes.span)?;
        Some(record::gather_node(&table, lanes.slot, Some(lanes.mask), 0, RegionId::NONE))
    }

    /// Returns the loop that the call is in.
    fn around(&self, loops: &[Mark]) -> RegionId {
        match loops.first() {
            Some(outermost) => region::innermost_body_around(*outermost),
            None => region::innermost_body(),
        }
    }

    /// Records a loop over the values of all members.
    fn record_loop(&self, step: &Step, done: &[Var], loops: &[Mark]) -> Option<Var> {
        let Some(Payload::Loop(payload)) = step.nodes[0].payload() else { return None };
        let mut operands = step.operands.iter().map(|&operand| done[operand].clone());
        let (condition, id) = (operands.next()?, loops[step.of?].id);
        let state = |(position, state): (usize, &State)| {
            let init = operands.next()?;
            let next = if state.next.is_some() { Some(operands.next()?) } else { None };
            Some((position, init, next))
        };
        let parts = payload.states.iter().enumerate().map(state).collect::<Option<Vec<_>>>()?;
        // Its parameters, as far as anything depends on them.
        let param = |position: usize, init: &Var| {
            let is_it = |(other, _): &(&Step, &Var)| {
                other.kind == Kind::Param && other.of == step.of && other.nodes[0].position() == position
            };
            let found = self.steps.iter().zip(done).find(is_it).map(|(_, var)| var.clone());
            found.unwrap_or_else(|| loops::param(id, position, init))
        };
        let states = parts.into_iter().map(|(position, init, next)| State {
            param: param(position, &init),
            init,
            next,
            is_memory: false,
            carries: false,
        });
        let mut states: Vec<State> = states.collect();
        activity::mark(id, &mut states);
        let site = step.nodes[0].site();
        let lanes = loops::Lanes::of(&condition, &states, site);
        let bound = payload.bound;
        let payload = LoopPayload { bound, ..LoopPayload::new(id, condition, states, lanes.is_uniform) };
        let region = self.region_of(step.nodes[0].region(), loops);
        Some(control_node(Op::Loop, lanes.width, Payload::Loop(payload), region, site))
    }

    /// Returns the region that represents one of the first member's.
    fn region_of(&self, region: RegionId, loops: &[Mark]) -> RegionId {
        let is_it = |step: &&Step| {
            matches!(step.nodes[0].payload(), Some(Payload::Loop(payload)) if payload.id == region)
                && step.kind == Kind::Inner
        };
        self.steps.iter().find(is_it).and_then(|step| step.of).map_or(region, |number| loops[number].id)
    }

    fn operation(&self, step: &Step, operands: &[&Var], lanes: &Lanes<'_>, pinned: RegionId) -> Option<Var> {
        let var = &step.nodes[0];
        let mut width =
            operands.iter().map(|operand| operand.extent()).find(|width| width.lanes != 1).unwrap_or(Extent::ONE);
        let mut region = operands.iter().map(|operand| operand.region()).max().unwrap_or(RegionId::NONE);
        match var.op() {
            Op::Gather => return self.gather(step, operands, lanes, pinned),
            // Its derivative is that of one target.
            _ if tape::is_distinguished(var) => return None,
            Op::LoopResult => return Some(loops::loop_result(operands[0], var.position())),
            Op::Broadcast if operands[0].width() == var.width() => return Some(operands[0].clone()),
            Op::Broadcast => width = var.extent(),
            Op::BranchResult | Op::SwitchResult => {
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
                let payload = Payload::Branch(BranchPayload { condition: operands[0].clone(), results });
                return Some(control_node(
                    Op::Branch,
                    if width.lanes > 1 { width } else { var.extent() },
                    payload,
                    region,
                    var.site(),
                ));
            }
            Op::Switch => {
                let Some(Payload::Switch(payload)) = var.payload() else { return None };
                let mut operands = operands.iter().copied().cloned();
                let index = operands.next()?;
                let masks = operands.by_ref().take(payload.masks.len()).collect();
                let results =
                    payload.results.iter().map(|values| operands.by_ref().take(values.len()).collect()).collect();
                let payload =
                    Payload::Switch(SwitchPayload { index, masks, is_exclusive: false, results, checked: None });
                let width = if width.lanes > 1 { width } else { var.extent() };
                return Some(control_node(Op::Switch, width, payload, region, var.site()));
            }
            _ => {}
        }
        let flags = if var.is_pinned() { flag::PINNED } else { 0 };
        if var.is_pinned() {
            region = region.max(pinned);
        }
        let mut slots = [None; 3];
        operands.iter().zip(&mut slots).for_each(|(operand, slot)| *slot = Some(*operand));
        let (op, ty, site) = (var.op(), var.ty(), var.site());
        Some(Draft { op, ty, width, region, flags, operands: slots, position: 0, word: 0, site }.number())
    }

    /// Reads from the array of each lane's target.
    fn gather(&self, step: &Step, operands: &[&Var], lanes: &Lanes<'_>, pinned: RegionId) -> Option<Var> {
        let (var, mask) = (&step.nodes[0], operands.get(1).copied());
        let (flags, pinned) = if var.is_pinned() { (flag::PINNED, pinned) } else { (0, RegionId::NONE) };
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
        let begin = self.read_numbers(begins.into_iter(), lanes)?;
        let length = self.read_numbers(step.sources.iter().map(|source| source.lanes() as u64), lanes)?;
        let inside = is_below(operands[0], &length);
        let mask = mask.map_or_else(|| inside.clone(), |mask| record::and(mask, &inside));
        let index = record::binary(BinaryOp::Add, &record::cast(Type::U32, operands[0]), &begin);
        Some(record::gather_node(&joined, &index, Some(&mask), flags, pinned))
    }

    /// Returns a number for each target, read for the lane's target; a literal if they are all the same.
    fn read_numbers(&self, numbers: impl Iterator<Item = u64>, lanes: &Lanes<'_>) -> Option<Var> {
        let numbers: Vec<u64> = numbers.collect();
        let literal = |number: u64| record::literal(Type::U32, number, 1);
        if numbers.iter().all(|&number| number == numbers[0]) {
            return Some(literal(numbers[0]));
        }
        let numbers: Vec<Var> = numbers.into_iter().map(literal).collect();
        self.read_table(&numbers, lanes)
    }
}
