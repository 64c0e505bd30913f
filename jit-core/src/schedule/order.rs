//! The graph of the wanted values in topological order, operands first.
//!
//! The walk uses an explicit stack, so the depth of a graph is limited only by memory. Each node becomes an [`Entry`],
//! whose operands are earlier entries; loops and branches also have a [`Control`]. The order depends only on the shape
//! of the graph, never on addresses or times.

use jit_runtime::{Error, ErrorKind};
use smallvec::SmallVec;

use super::effect::{Effect, Held, Memory, Shared};
use super::live::Live;
use super::map::NodeMap;
use super::selected::Selection;
use crate::graph::Var;
use crate::graph::edges::Edges;
use crate::graph::inputs::{Input, Role};
use crate::graph::node::flag;
use crate::graph::op::Op;
use crate::graph::payload::{Payload, RegionId, SwitchPayload};
use crate::misuse::Misuse;
use crate::size::extent::Extent;
use crate::trace::{local, region};

/// No entry.
pub(super) const NONE: u32 = u32::MAX;
/// The capacity for a small graph, which is less than a KiB: allocators are slower for larger requests.
const SMALL: usize = 20;

/// One node.
#[derive(Clone, Copy)]
pub(super) struct Entry<'e> {
    pub(super) var: &'e Var,
    pub(super) op: Op,
    /// The entries of the operands. A loop's or branch's result has the entry of its control; the parameter of a state
    /// that the loop does not change has that of the initial value.
    pub(super) operands: [u32; 3],
    /// The number of kernels in sequence that must run before the value can be computed.
    pub(super) stage: u32,
    /// For loops, branches and switches, their number among the controls; for scatters, among the effects.
    pub(super) control: u32,
    /// For arrays that a kernel of this evaluation writes in place, the number of their memory.
    pub(super) memory: u32,
    /// The innermost loop whose state the value depends on, not counting invariants.
    pub(super) region: RegionId,
    /// Whether the value is in memory already, or is known.
    pub(super) is_evaluated: bool,
    /// Whether the value will be written to memory.
    pub(super) is_root: bool,
    /// Whether the value is available only after the kernel that computes it.
    pub(super) is_later: bool,
    /// Whether only kernels of this evaluation read what is written: the node does not get that memory.
    pub(super) is_temporary: bool,
    /// Whether the entry is a copy of the node's elements, to be overwritten, instead of the node.
    pub(super) is_copy: bool,
}

impl Entry<'_> {
    /// Returns the number of lanes that compute the value.
    pub(super) fn lanes(&self, entries: &[Entry<'_>]) -> Extent {
        let of_control = || entries[self.operands[0] as usize].var;
        match self.op {
            Op::Reduce(_) | Op::ScatterResult => of_control().extent(),
            // A value of width 1 is computed with the other results of the loop, if the loop can run only once.
            Op::LoopResult if of_control().flags() & flag::EFFECT != 0 => of_control().extent(),
            _ => self.var.extent(),
        }
    }

    /// Returns whether the entry is a loop, branch or switch.
    pub(super) fn is_control(&self) -> bool {
        matches!(self.op, Op::Loop | Op::Branch | Op::Switch)
    }
}

/// The parts of a loop, branch or switch.
pub(super) struct Control<'e> {
    pub(super) payload: &'e Payload,
    /// The condition, or the index of a switch.
    pub(super) condition: u32,
    pub(super) parts: Vec<Part>,
    /// For a switch, the value of each part in each case, the default last.
    pub(super) values: Vec<Vec<u32>>,
    /// For a switch whose index is checked, the index and the lanes on which it matters.
    pub(super) checked: Option<[u32; 2]>,
    /// The states of a loop that are per-lane local memory.
    pub(super) locals: Vec<Part>,
    pub(super) shared: Vec<Shared>,
}

/// A reachable state of a loop, or result of a branch or switch. For a switch only the position is used.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// Its position in the payload.
    pub(super) position: usize,
    /// The parameter; for branches none.
    pub(super) param: u32,
    /// The value before the loop, or of the first side.
    pub(super) first: u32,
    /// The value after the body, or of the second side.
    pub(super) second: u32,
}

/// The graph in order.
pub(super) struct Graph<'e> {
    pub(super) entries: Vec<Entry<'e>>,
    pub(super) controls: Vec<Control<'e>>,
    pub(super) effects: Vec<Effect<'e>>,
    pub(super) memories: Vec<Memory>,
    /// The entries of library calls.
    pub(super) natives: Vec<u32>,
    /// The lanes that are computed, if not all are.
    pub(super) selection: Option<&'e Selection>,
}

impl Graph<'_> {
    /// Returns the memory that another one finally resolves to.
    pub(super) fn root_memory(&self, mut memory: u32) -> u32 {
        while let Memory::Same(other) = self.memories[memory as usize] {
            memory = other;
        }
        memory
    }

    /// Returns the entry to read from memory for one of its lanes' values: that of the node which it is a copy of, if
    /// that is in memory in any case.
    fn in_memory(&self, number: u32) -> u32 {
        let mut value = number;
        while let entry = &self.entries[value as usize]
            && entry.op == Op::Identity
            && !entry.is_evaluated
        {
            value = entry.operands[0];
        }
        let entry = &self.entries[value as usize];
        if entry.is_evaluated && entry.var.has_data() || entry.op.is_stored() { value } else { number }
    }

    /// Returns whether an entry is in the condition of the loop that it belongs to: only writes of reports are.
    pub(super) fn is_in_condition(&self, number: u32) -> bool {
        let entry = &self.entries[number as usize];
        match entry.op {
            Op::Scatter => self.effects[entry.control as usize].payload.is_in_condition,
            Op::Loop => {
                matches!(self.controls[entry.control as usize].payload,
                    Payload::Loop(payload) if payload.is_in_condition)
            }
            _ => false,
        }
    }

    /// Returns whether a kernel changes arrays in place, which another one of its stage may read.
    pub(super) fn writes_in_place(&self) -> bool {
        !self.effects.is_empty() || self.controls.iter().any(|control| !control.shared.is_empty())
    }

    /// Returns whether an entry is a scatter, or a loop that scatters.
    pub(super) fn is_writing(&self, entry: &Entry<'_>) -> bool {
        match entry.op {
            Op::Scatter => true,
            Op::Loop => !self.controls[entry.control as usize].shared.is_empty(),
            _ => false,
        }
    }

    /// Returns whether an entry writes memory in place, including per-lane local memory: it must stay where it was
    /// recorded.
    pub(super) fn writes_memory(&self, number: u32) -> bool {
        let entry = &self.entries[number as usize];
        match entry.op {
            Op::Scatter | Op::Local | Op::LocalWrite => true,
            Op::Loop => {
                let control = &self.controls[entry.control as usize];
                !control.shared.is_empty() || !control.locals.is_empty()
            }
            _ => false,
        }
    }
}

/// A node that waits for its operands.
struct Frame<'e> {
    var: &'e Var,
    next_child: u32,
    operands: [u32; 3],
}

pub(super) struct Walk<'e> {
    edges: &'e Edges,
    live: Live<'e>,
    pub(super) held: &'e Held,
    pub(super) graph: Graph<'e>,
    numbers: NodeMap,
    stack: Vec<Frame<'e>>,
    placeholder: Option<&'e Var>,
}

impl<'e> Graph<'e> {
    /// Orders the graph of the wanted values, and marks the values that must be written to memory: the wanted values,
    /// reductions, sources of gathers, and operands and results of library calls.
    pub(super) fn of(
        edges: &'e Edges,
        wanted: &[&'e Var],
        held: &'e Held,
        selection: Option<&'e Selection>,
    ) -> Result<Graph<'e>, Error> {
        let wanted: SmallVec<[&Var; 8]> = wanted.iter().copied().chain(held.iter()).collect();
        let live = Live::search(edges, &wanted);
        let graph = Graph {
            entries: Vec::with_capacity(SMALL),
            controls: Vec::new(),
            effects: Vec::new(),
            memories: Vec::new(),
            natives: Vec::new(),
            selection,
        };
        let stack = Vec::with_capacity(SMALL);
        let mut walk = Walk { edges, live, held, graph, numbers: NodeMap::take(), stack, placeholder: None };
        for var in wanted {
            let number = walk.run(var);
            walk.graph.entries[number as usize].is_root = true;
        }
        // The map is large and cleared by a counter; the next walk on this thread reuses it.
        walk.numbers.give_back();
        match walk.placeholder {
            None => Ok(walk.graph),
            Some(placeholder) => Err(no_value(placeholder)),
        }
    }
}

fn no_value(placeholder: &Var) -> Error {
    let text = format!("a placeholder of {} elements has no value to compute with", placeholder.width());
    Error::new(ErrorKind::NotEvaluated, text)
        .at(placeholder.site())
        .with_hint("placeholders are for tracing and compiling; evaluate a program with arrays that have values")
}

/// Returns the error for requesting a value that exists only inside a loop.
pub(super) fn only_inside(var: &Var) -> Error {
    let mut text =
        Misuse::new("a value that is computed inside of a traced `if` or `while` cannot be read there", var.site());
    if let Some(begin) = region::outermost_site() {
        text = text.place("the region begins", begin);
    }
    Error::new(ErrorKind::NotEvaluated, text.into_text()).with_hint(
        "its lanes are known only when the kernel runs: make the condition a host `bool`, or read the value after the \
         region; values from before the region can be read in it, on all lanes",
    )
}

impl<'e> Walk<'e> {
    /// Visits the nodes behind a node; returns its entry.
    fn run(&mut self, var: &'e Var) -> u32 {
        if let Some(number) = self.known(var) {
            return number;
        }
        self.push_frame(var);
        while let Some(frame) = self.stack.last() {
            let var = frame.var;
            let missing = match var.op() {
                Op::Loop | Op::Branch | Op::Switch | Op::Scatter => self.missing_child(var),
                op @ (Op::Param | Op::LoopResult | Op::ScatterResult) => self.missing_of_region(var, op),
                op => self.missing_operand(var, op),
            };
            match missing {
                Some(child) => self.push_frame(child),
                None => {
                    self.finish(var);
                    self.stack.pop();
                }
            }
        }
        self.number(var)
    }

    /// Returns the next part without an entry, of a node that was replaced because its region was aborted.
    fn missing_of_region(&mut self, var: &'e Var, op: Op) -> Option<&'e Var> {
        match self.original(var) {
            Some(original) => self.known(original).is_none().then_some(original),
            None if op == Op::Param => self.missing_child(var),
            None => self.missing_operand(var, op),
        }
    }

    /// Returns the node that replaces one whose region was aborted.
    #[inline]
    fn original(&self, var: &'e Var) -> Option<&'e Var> {
        self.edges.operand(var, var.op().original_slot()?)
    }

    fn push_frame(&mut self, var: &'e Var) {
        self.stack.push(Frame { var, next_child: 0, operands: [NONE; 3] });
    }

    pub(super) fn number(&self, var: &Var) -> u32 {
        self.numbers.get(var.address()).unwrap_or(NONE)
    }

    /// Returns the entry of a node that was finished before, or of a leaf.
    #[inline]
    fn known(&mut self, var: &'e Var) -> Option<u32> {
        if let Some(number) = self.numbers.get(var.address()) {
            return Some(number);
        }
        let is_at_hand = |selection: &Selection| selection.narrow(var).is_some();
        // An evaluated value is read from memory, so the graph behind it is not visited.
        let is_evaluated = var.is_evaluated() || self.graph.selection.is_some_and(is_at_hand);
        let is_leaf = is_evaluated || matches!(var.op(), Op::LaneIndex | Op::Placeholder | Op::Data);
        if !is_leaf {
            return None;
        }
        // Reported after the walk, so that the message names the first one in the order of the graph.
        if !is_evaluated && var.op() != Op::LaneIndex {
            self.placeholder.get_or_insert(var);
        }
        let number = self.push(var, [NONE; 3], 0, RegionId::NONE, NONE);
        self.graph.entries[number as usize].is_evaluated = is_evaluated;
        Some(number)
    }

    /// Returns the next operand without an entry, of the node on top of the stack.
    #[inline]
    fn missing_operand(&mut self, var: &'e Var, op: Op) -> Option<&'e Var> {
        let top = self.stack.len() - 1;
        for slot in self.stack[top].next_child as usize..op.slots() {
            let Some(operand) = self.edges.operand(var, slot) else { continue };
            match self.known(operand) {
                Some(number) => self.stack[top].operands[slot] = number,
                None => {
                    self.stack[top].next_child = slot as u32;
                    return Some(operand);
                }
            }
        }
        None
    }

    /// Returns the next part without an entry, of the loop, branch or parameter on top of the stack.
    fn missing_child(&mut self, var: &'e Var) -> Option<&'e Var> {
        loop {
            let frame = self.stack.last_mut()?;
            let index = frame.next_child;
            frame.next_child += 1;
            match self.child(var, index) {
                Child::Node(child) if self.known(child).is_none() => return Some(child),
                Child::Node(_) | Child::None => {}
                Child::End => return None,
            }
        }
    }

    /// Returns the parts of a loop, branch or parameter, one after another.
    fn child(&self, var: &'e Var, index: u32) -> Child<'e> {
        if var.op() == Op::Param {
            return match (index, self.unchanged_state(var)) {
                (0, Some(init)) => Child::Node(init),
                _ => Child::End,
            };
        }
        let Some(payload) = var.payload() else { return Child::End };
        let Some(Input { role, position, var: part }) = payload.input(index as usize) else { return Child::End };
        // A dead result is skipped with its state, its update and its values in branches.
        let is_needed = match (role, position, payload) {
            (Role::Param | Role::Mask, ..) => false,
            (Role::Init | Role::Next, Some(position), Payload::Loop(payload)) => {
                self.live.is_live(var, position) && payload.states[position].next.is_some()
            }
            (_, Some(position), _) => self.live.is_live(var, position),
            (_, None, _) => true,
        };
        part.filter(|_| is_needed).map_or(Child::None, Child::Node)
    }

    /// Returns the initial value of a state that its loop does not change.
    fn unchanged_state(&self, param: &Var) -> Option<&'e Var> {
        match self.live.loop_of(param)?.payload()? {
            Payload::Loop(payload) => {
                let state = &payload.states[param.position()];
                state.next.is_none().then_some(&state.init)
            }
            Payload::Branch(_) | Payload::Switch(_) | Payload::Scatter(_) | Payload::LibraryCall(_) => None,
        }
    }

    /// Returns whether a parameter is that of a state in memory.
    fn is_memory(&self, param: &Var) -> bool {
        match self.live.loop_of(param).and_then(Var::payload) {
            Some(Payload::Loop(payload)) => payload.states[param.position()].is_memory,
            _ => false,
        }
    }

    pub(super) fn is_live(&self, control: &Var, position: usize) -> bool {
        self.live.is_live(control, position)
    }

    /// Makes the entry of a node whose operands have entries.
    fn finish(&mut self, var: &'e Var) -> u32 {
        match var.op() {
            Op::Loop | Op::Branch | Op::Switch => self.finish_control(var),
            Op::Scatter => self.finish_scatter(var),
            op @ (Op::Param | Op::LoopResult | Op::ScatterResult) => self.finish_of_region(var, op),
            op => self.finish_plain(var, op),
        }
    }

    /// Makes the entry of a node that was replaced because its region was aborted.
    fn finish_of_region(&mut self, var: &'e Var, op: Op) -> u32 {
        if let Some(original) = self.original(var) {
            return self.finish_original(var, original);
        }
        match op {
            Op::Param => self.finish_param(var),
            Op::ScatterResult => self.finish_scatter_result(var),
            _ => {
                let number = self.finish_plain(var, op);
                self.complete_loop_result(number);
                number
            }
        }
    }

    /// Reads the operands one by one, as they were written: copying all of them at once just after that would stall the
    /// processor.
    #[inline]
    fn finish_plain(&mut self, var: &'e Var, op: Op) -> u32 {
        let frame = self.stack.last_mut().expect("a node that is finished is on the stack");
        let mut stage = 0;
        let mut region = if var.is_pinned() { var.region() } else { RegionId::NONE };
        for slot in 0..op.slots() {
            let mut number = frame.operands[slot];
            if number == NONE {
                continue;
            }
            let is_read = matches!((op, slot), (Op::Gather, 0) | (Op::LibraryCall, _));
            if is_read && self.graph.entries[number as usize].op == Op::Identity {
                number = self.graph.in_memory(number);
                frame.operands[slot] = number;
            }
            let entry = &mut self.graph.entries[number as usize];
            // Elements of other lanes are read from memory, so the operand is stored by an earlier kernel.
            let is_source = is_read && !entry.is_evaluated;
            entry.is_root |= is_source;
            stage = stage.max(entry.stage + u32::from(is_source || entry.is_later));
            region = region.max(entry.region);
        }
        let number = self.push(var, [NONE; 3], stage, region, NONE);
        let frame = self.stack.last().expect("a node that is finished is on the stack");
        let entry = &mut self.graph.entries[number as usize];
        for slot in 0..op.slots() {
            entry.operands[slot] = frame.operands[slot];
        }
        (entry.is_root, entry.is_later) = (op.is_stored(), op.is_stored());
        if op == Op::LibraryCall {
            self.graph.natives.push(number);
        }
        number
    }

    fn finish_param(&mut self, var: &'e Var) -> u32 {
        match self.unchanged_state(var) {
            Some(init) => {
                let number = self.number(init);
                let Entry { region, .. } = self.graph.entries[number as usize];
                self.push(var, [number, NONE, NONE], self.stage_after(number), region, NONE)
            }
            None => {
                let number = self.push(var, [NONE; 3], 0, var.region(), NONE);
                if self.is_memory(var) {
                    self.mark_param(number);
                }
                number
            }
        }
    }

    /// Makes the entry of a node that is replaced by another one, such as the initial value of a state that its loop
    /// does not change.
    fn finish_original(&mut self, var: &'e Var, original: &'e Var) -> u32 {
        let number = self.number(original);
        let Entry { region, .. } = self.graph.entries[number as usize];
        let entry = self.push(var, [number, NONE, NONE], self.stage_after(number), region, NONE);
        self.graph.entries[entry as usize].op = Op::Param;
        entry
    }

    /// Returns the first stage in which a value can be used.
    pub(super) fn stage_after(&self, number: u32) -> u32 {
        let entry = &self.graph.entries[number as usize];
        entry.stage + u32::from(entry.is_later)
    }

    fn finish_control(&mut self, var: &'e Var) -> u32 {
        let Some(payload) = var.payload() else { return NONE };
        let (condition, parts) = self.parts_of(var, payload);
        let values = self.values_of(payload, &parts);
        let checked = match payload {
            Payload::Switch(SwitchPayload { checked: Some(call), .. }) => {
                Some([&call.index, &call.mask].map(|var| self.number(var)))
            }
            _ => None,
        };
        let (shared, mut stage) = match payload {
            Payload::Loop(payload) => self.shared_of(var, payload),
            Payload::Branch(_) | Payload::Switch(_) | Payload::Scatter(_) | Payload::LibraryCall(_) => (Vec::new(), 0),
        };
        let used = parts.iter().flat_map(|part| [part.first, part.second]).filter(|&number| number != NONE);
        let used = used.chain([condition]).chain(values.iter().flatten().copied());
        let used = used.chain(checked.into_iter().flatten());
        let used = used.chain(shared.iter().map(|shared| shared.next));
        let mut region = RegionId::NONE;
        for number in used {
            let entry = &self.graph.entries[number as usize];
            stage = stage.max(entry.stage + u32::from(entry.is_later));
            region = region.max(entry.region);
        }
        // Nodes inside a loop depend on the loop; the loop's own dependencies were listed with it.
        if matches!(payload, Payload::Loop(_)) {
            region = var.region();
        }
        let is_local = |part: &Part| part.first != NONE && local::is_local(self.graph.entries[part.first as usize].var);
        let (locals, parts) = parts.into_iter().partition(is_local);
        let control = self.graph.controls.len() as u32;
        self.graph.controls.push(Control { payload, condition, parts, values, checked, locals, shared });
        self.push(var, [NONE; 3], stage, region, control)
    }

    fn parts_of(&self, var: &Var, payload: &Payload) -> (u32, Vec<Part>) {
        let is_live = |position: &usize| self.live.is_live(var, *position);
        match payload {
            Payload::Loop(payload) => {
                let live =
                    (0..payload.states.len()).filter(is_live).filter(|&position| !payload.states[position].is_memory);
                let parts = live.filter_map(|position| {
                    let state = &payload.states[position];
                    let second = self.number(state.next.as_ref()?);
                    let (param, first) = (self.number(&state.param), self.number(&state.init));
                    Some(Part { position, param, first, second })
                });
                (self.number(&payload.condition), parts.collect())
            }
            Payload::Branch(payload) => {
                let live = (0..payload.results.len()).filter(is_live);
                let parts = live.map(|position| {
                    let [first, second] = payload.results[position].each_ref().map(|value| self.number(value));
                    Part { position, param: NONE, first, second }
                });
                (self.number(&payload.condition), parts.collect())
            }
            Payload::Switch(payload) => {
                let live = (0..payload.results.len()).filter(is_live);
                let parts = live.map(|position| Part { position, param: NONE, first: NONE, second: NONE });
                (self.number(&payload.index), parts.collect())
            }
            Payload::Scatter(_) | Payload::LibraryCall(_) => (NONE, Vec::new()),
        }
    }

    fn values_of(&self, payload: &Payload, parts: &[Part]) -> Vec<Vec<u32>> {
        let Payload::Switch(payload) = payload else { return Vec::new() };
        let numbers = |part: &Part| payload.results[part.position].iter().map(|value| self.number(value)).collect();
        parts.iter().map(numbers).collect()
    }

    #[inline]
    pub(super) fn push(&mut self, var: &'e Var, operands: [u32; 3], stage: u32, region: RegionId, control: u32) -> u32 {
        let number = self.graph.entries.len() as u32;
        self.numbers.insert(var.address(), number);
        self.graph.entries.push(Entry {
            var,
            op: var.op(),
            operands,
            stage,
            control,
            memory: NONE,
            region,
            is_evaluated: false,
            is_root: false,
            is_later: false,
            is_temporary: false,
            is_copy: false,
        });
        number
    }

    /// Makes the entry of a copy of an array in memory.
    pub(super) fn push_copy(&mut self, array: &'e Var, number: u32, stage: u32) -> u32 {
        let copied = self.graph.entries[number as usize];
        self.graph.entries.push(Entry {
            var: array,
            op: Op::Broadcast,
            operands: [number, NONE, NONE],
            stage,
            control: NONE,
            memory: NONE,
            region: copied.region,
            is_evaluated: false,
            is_root: true,
            is_later: true,
            is_temporary: false,
            is_copy: true,
        });
        self.graph.entries.len() as u32 - 1
    }

    /// Returns the entry of an operand of the node on top of the stack.
    pub(super) fn operand_on_top(&self, slot: usize) -> u32 {
        self.stack.last().map_or(NONE, |frame| frame.operands[slot])
    }
}

enum Child<'e> {
    Node(&'e Var),
    /// An operand that is absent or not needed.
    None,
    End,
}

/// Returns every entry that an entry uses, in the order of the walk.
pub(super) fn uses(graph: &Graph<'_>, number: u32) -> SmallVec<[u32; 8]> {
    let entry = &graph.entries[number as usize];
    let mut used: SmallVec<[u32; 8]> = entry.operands.iter().copied().filter(|&operand| operand != NONE).collect();
    if entry.op == Op::Scatter {
        used.extend(graph.effects[entry.control as usize].used());
    } else if entry.control != NONE {
        let control = &graph.controls[entry.control as usize];
        used.push(control.condition);
        let parts = control.parts.iter().chain(&control.locals).flat_map(|part| [part.first, part.second]);
        used.extend(parts.filter(|&entry| entry != NONE));
        used.extend(control.values.iter().flatten().copied());
        used.extend(control.checked.into_iter().flatten());
        let shared = control.shared.iter().flat_map(|shared| [shared.previous, shared.next]);
        used.extend(shared.filter(|&entry| entry != NONE));
    }
    used
}
