//! Building the kernel of a group.
//!
//! Without loops and branches, entries are appended in their order. With them, blocks are emitted depth first, from a list of things to do.

use std::panic::Location;
use std::sync::Arc;

use jit_runtime::Error;
use jit_runtime::ir::{Access, BinaryOp, Builder, CompareOp, Kernel, ParamId, RegionId, Type, UnaryOp, Value};
use jit_runtime::launch::{AccessKind, Argument, CheckedAccess, Checks};
use jit_runtime::memory::Buffer;
use jit_runtime::recording::Scalar;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::check::Checker;
use super::effect::Memory;
use super::group::{Group, is_leaf};
use super::local::Locals;
use super::order::{Entry, Graph, NONE};
use super::place::{Placement, TOP, place};
use super::selected::Selection;
use crate::freeze::session;
use crate::trace::Var;
use crate::trace::effect::How;
use crate::trace::local;
use crate::trace::node::Extra;
use crate::trace::op::Op;
use crate::trace::record;
use crate::trace::region::RegionId as TraceRegion;

/// Memory that kernels of this evaluation write, by entry.
pub(super) type Outputs = FxHashMap<u32, Arc<Buffer>>;

/// A kernel and what it is launched with.
pub(super) struct Emitted {
    pub(super) kernel: Kernel,
    pub(super) arguments: Vec<Argument>,
    pub(super) literals: Literals,
    pub(super) checks: Option<Checks>,
    pub(super) noted: Noted,
}

/// What a recording wants to know about the arguments, by position; empty if there is none.
#[derive(Default)]
pub(super) struct Noted {
    pub(super) scalars: Vec<(usize, Scalar)>,
    pub(super) inputs: Vec<(usize, Var)>,
}

/// The literals of a kernel, and the lines that made them.
pub(super) type Literals = SmallVec<[(Value, &'static Location<'static>); 8]>;

pub(super) struct Emitter<'a, 'e> {
    pub(super) graph: &'a Graph<'e>,
    pub(super) group: &'a Group,
    outputs: &'a mut Outputs,
    /// The lanes that are computed, if not all are.
    selection: Option<&'a Selection>,
    pub(super) placement: Option<Placement>,
    pub(super) builder: Builder,
    arguments: Vec<Argument>,
    literals: Literals,
    noted: Noted,
    pub(super) values: Vec<Option<Value>>,
    /// Parameters for memory that is read, by entry.
    inputs: Vec<Option<ParamId>>,
    /// Parameters for memory that is written in place.
    written: Vec<Option<ParamId>>,
    /// Loops, branches and switches whose regions are built: the finished regions.
    regions: FxHashMap<u32, SmallVec<[RegionId; 2]>>,
    pub(super) checker: Option<Checker>,
    pub(super) locals: Locals,
    /// The number of the lane, if only some lanes are computed.
    lane: Option<Value>,
}

/// Builds the kernel of a group.
pub(super) fn emit(graph: &Graph<'_>, group: &Group, outputs: &mut Outputs) -> Result<Emitted, Error> {
    let count = graph.entries.len();
    let has_control =
        !graph.controls.is_empty() && group.order.iter().any(|&number| graph.entries[number as usize].is_control());
    let emitter = Emitter {
        graph,
        group,
        outputs,
        selection: graph.selection.filter(|selection| group.is_selected(selection)),
        placement: has_control.then(|| place(graph, group)),
        builder: Builder::with_capacity(group.order.len() + group.roots.len()),
        arguments: Vec::with_capacity(8),
        literals: SmallVec::new(),
        noted: Noted::default(),
        values: vec![None; count],
        inputs: vec![None; count],
        written: vec![None; graph.memories.len()],
        regions: FxHashMap::default(),
        checker: Checker::wanted(),
        locals: Locals::default(),
        lane: None,
    };
    emitter.run()
}

/// A step of the emission of nested blocks.
enum Step {
    /// The entries of a block from a position on.
    Block(u32, usize),
    /// The condition of a loop ends, its body begins.
    Body(u32),
    /// The body of a loop ends.
    EndLoop(u32),
    /// The first side of a branch ends, the second begins.
    Otherwise(u32),
    /// The second side of a branch ends.
    EndBranch(u32),
    /// A case of a switch ends; the next one begins, if there is one.
    NextCase(u32, usize),
}

impl<'e> Emitter<'_, 'e> {
    fn run(mut self) -> Result<Emitted, Error> {
        self.locals = Locals::of(self.graph, self.group, self.placement.as_ref());
        self.select_lanes();
        match self.placement.is_some() {
            true => self.emit_blocks(),
            false => self.emit_line(),
        }
        for &root in &self.group.roots {
            self.write(root)?;
        }
        let checks = match self.checker.take() {
            Some(checker) => checker.finish(&mut self.arguments)?,
            None => None,
        };
        Ok(Emitted {
            kernel: self.builder.finish(),
            arguments: self.arguments,
            literals: self.literals,
            checks,
            noted: self.noted,
        })
    }

    /// Where only some lanes are computed, reads their numbers.
    fn select_lanes(&mut self) {
        if let Some((buffer, len)) = self.selection.and_then(|all| Some((all.lanes.data()?, all.lanes.lanes()))) {
            self.arguments.push(Argument::Buffer(buffer, len));
            let param = self.builder.buffer(Type::U32, Access::Read);
            self.lane = Some(self.builder.load(param));
        }
    }

    /// Whether the elements of an entry lie in memory for the lanes that are computed.
    fn is_at_hand(&self, number: u32) -> bool {
        let (var, is_written) = (self.entry(number).var, self.outputs.contains_key(&number));
        is_written || self.selection.is_some_and(|selection| selection.narrow(var).is_some())
    }

    pub(super) fn entry(&self, number: u32) -> &Entry<'e> {
        &self.graph.entries[number as usize]
    }

    /// Without control flow: leaves are read when they are first used.
    fn emit_line(&mut self) {
        for position in 0..self.group.order.len() {
            let number = self.group.order[position];
            if !is_leaf(self.graph, self.group, number) {
                self.emit_value(number, TOP);
            }
        }
    }

    fn emit_blocks(&mut self) {
        let mut steps = vec![Step::Block(TOP, 0)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Block(block, position) => self.emit_block(block, position, &mut steps),
                Step::Body(number) => self.begin_body(number, &mut steps),
                Step::EndLoop(number) => self.end_loop(number),
                Step::Otherwise(number) => self.begin_otherwise(number, &mut steps),
                Step::EndBranch(number) => self.end_branch(number),
                Step::NextCase(number, case) => self.next_case(number, case, &mut steps),
            }
        }
    }

    /// Emits the entries of a block up to the next loop or branch.
    fn emit_block(&mut self, block: u32, mut position: usize, steps: &mut Vec<Step>) {
        while let Some(number) = self.block_entry(block, position) {
            position += 1;
            match self.entry(number).op {
                Op::Loop => {
                    steps.push(Step::Block(block, position));
                    return self.begin_loop(number, block, steps);
                }
                Op::Branch => {
                    steps.push(Step::Block(block, position));
                    return self.begin_branch(number, steps);
                }
                Op::Switch => {
                    steps.push(Step::Block(block, position));
                    return self.begin_case(number, 0, steps);
                }
                _ => self.emit_value(number, block),
            }
        }
    }

    fn block_entry(&self, block: u32, position: usize) -> Option<u32> {
        self.placement.as_ref()?.blocks[block as usize].entries.get(position).copied()
    }

    /// One of the blocks of a loop, branch or switch.
    fn inner(&self, number: u32, which: usize) -> u32 {
        self.placement.as_ref().map_or(TOP, |placement| placement.inner[&number][which])
    }

    fn parts(&self, number: u32) -> &'_ [super::order::Part] {
        &self.graph.controls[self.entry(number).control as usize].parts
    }

    fn begin_loop(&mut self, number: u32, block: u32, steps: &mut Vec<Step>) {
        self.enter_loop(number, block);
        let types: Vec<Type> = self.parts(number).iter().map(|part| self.entry(part.first).var.ty()).collect();
        let (region, params) = self.builder.open_region(&types);
        for (position, value) in params.into_iter().enumerate() {
            let param = self.parts(number)[position].param;
            if param != NONE {
                self.values[param as usize] = Some(value);
            }
        }
        self.regions.insert(number, SmallVec::from_slice(&[region]));
        steps.push(Step::Body(number));
        steps.push(Step::Block(self.inner(number, 0), 0));
    }

    fn begin_body(&mut self, number: u32, steps: &mut Vec<Step>) {
        let condition = self.graph.controls[self.entry(number).control as usize].condition;
        let condition = self.value(condition);
        self.builder.close_region(vec![condition]);
        self.open_second(number);
        steps.push(Step::EndLoop(number));
        steps.push(Step::Block(self.inner(number, 1), 0));
    }

    fn open_second(&mut self, number: u32) {
        let (region, _) = self.builder.open_region(&[]);
        self.regions.entry(number).or_default().push(region);
    }

    fn end_loop(&mut self, number: u32) {
        self.end_iteration(number);
        let next = self.values_of(number, |part| part.second);
        self.builder.close_region(next);
        let inits = self.values_of(number, |part| part.first);
        let regions = self.regions[&number].clone();
        let results = self.builder.loop_(inits, regions[0], regions[1]);
        self.values[number as usize] = results.first().copied();
    }

    fn begin_branch(&mut self, number: u32, steps: &mut Vec<Step>) {
        let (region, _) = self.builder.open_region(&[]);
        self.regions.insert(number, SmallVec::from_slice(&[region]));
        steps.push(Step::Otherwise(number));
        steps.push(Step::Block(self.inner(number, 0), 0));
    }

    fn begin_otherwise(&mut self, number: u32, steps: &mut Vec<Step>) {
        let values = self.values_of(number, |part| part.first);
        self.builder.close_region(values);
        self.open_second(number);
        steps.push(Step::EndBranch(number));
        steps.push(Step::Block(self.inner(number, 1), 0));
    }

    fn end_branch(&mut self, number: u32) {
        let values = self.values_of(number, |part| part.second);
        self.builder.close_region(values);
        let condition = self.graph.controls[self.entry(number).control as usize].condition;
        let condition = self.value(condition);
        let regions = self.regions[&number].clone();
        let results = self.builder.if_(condition, regions[0], regions[1]);
        self.values[number as usize] = results.first().copied();
    }

    fn begin_case(&mut self, number: u32, case: usize, steps: &mut Vec<Step>) {
        self.open_second(number);
        steps.push(Step::NextCase(number, case));
        steps.push(Step::Block(self.inner(number, case), 0));
    }

    fn next_case(&mut self, number: u32, case: usize, steps: &mut Vec<Step>) {
        let control = &self.graph.controls[self.entry(number).control as usize];
        let (index, cases) = (control.condition, self.placement.as_ref().map_or(0, |all| all.inner[&number].len()));
        let values: SmallVec<[u32; 8]> = control.values.iter().map(|values| values[case]).collect();
        let values = values.into_iter().map(|value| self.value(value)).collect();
        self.builder.close_region(values);
        if case + 1 < cases {
            return self.begin_case(number, case + 1, steps);
        }
        let index = self.value(index);
        self.check_call(number);
        let mut regions = self.regions[&number].to_vec();
        let Some(default) = regions.pop() else { return };
        let results = self.builder.switch(index, regions, default);
        self.values[number as usize] = results.first().copied();
    }

    /// Notes lanes of a switch that call what is not there, where that is checked. They are masked off already.
    fn check_call(&mut self, number: u32) {
        let (control, site) =
            (&self.graph.controls[self.entry(number).control as usize], self.entry(number).var.site());
        let (Extra::Switch(extra), Some([index, mask])) = (control.extra, control.checked) else { return };
        let Some(call) = &extra.checked else { return };
        let (ty, width) = (call.index.ty(), call.count);
        let access =
            CheckedAccess { kind: AccessKind::Call(call.what), ty, width, is_signed: ty.is_signed_integer(), site };
        let [index, mask] = [index, mask].map(|operand| self.value(operand));
        self.in_range(access, index, Some(mask));
    }

    fn values_of(&mut self, number: u32, which: impl Fn(&super::order::Part) -> u32) -> Vec<Value> {
        let entries: SmallVec<[u32; 8]> = self.parts(number).iter().map(which).collect();
        entries.into_iter().map(|entry| self.value(entry)).collect()
    }

    /// The value of an entry; a leaf is read here if it has not been before.
    pub(super) fn value(&mut self, number: u32) -> Value {
        if let Some(value) = self.values[number as usize] {
            return value;
        }
        let value = self.leaf(number);
        self.values[number as usize] = Some(value);
        value
    }

    fn emit_value(&mut self, number: u32, block: u32) {
        if self.values[number as usize].is_none()
            && let Some(value) = self.compute(number, block)
        {
            self.values[number as usize] = Some(value);
        }
    }

    /// Reads a value from memory, or gives a known one.
    fn leaf(&mut self, number: u32) -> Value {
        let Entry { op, var, .. } = *self.entry(number);
        match (op, var.known_bits()) {
            (Op::Literal, Some(bits)) => {
                let value = self.builder.constant(var.ty(), bits);
                self.literals.push((value, var.site()));
                value
            }
            (_, Some(bits)) => {
                if session::is_recording() {
                    let position = self.arguments.len();
                    self.noted.scalars.extend(session::scalar_of(var).map(|scalar| (position, scalar)));
                }
                self.arguments.push(Argument::Scalar(bits));
                let param = self.builder.scalar_param(var.ty());
                self.builder.scalar(param)
            }
            _ => {
                let param = self.input(number);
                let is_wide = var.lanes() == self.group.lanes.lanes as usize;
                match self.lane {
                    Some(lane) if is_wide && !self.is_at_hand(number) => {
                        return self.builder.gather(param, lane, None);
                    }
                    _ if is_wide => return self.builder.load(param),
                    _ => {}
                }
                let first = self.builder.constant(Type::U32, 0);
                self.builder.gather(param, first, None)
            }
        }
    }

    /// The parameter for the memory of an entry, as lanes read their own elements of it.
    fn input(&mut self, number: u32) -> ParamId {
        if let Some(param) = self.inputs[number as usize] {
            return param;
        }
        let var = self.entry(number).var;
        let narrow = self.selection.and_then(|selection| Some((selection.narrow(var)?, selection.len_of(var))));
        let (buffer, len) = narrow.unwrap_or_else(|| self.memory_of(number));
        if session::is_recording() {
            self.noted.inputs.push((self.arguments.len(), var.clone()));
        }
        let param = self.add_input(var.ty(), buffer, len);
        self.inputs[number as usize] = Some(param);
        param
    }

    /// The parameter for the memory of an entry, all elements of it.
    fn source(&mut self, number: u32) -> ParamId {
        let var = self.entry(number).var;
        if self.selection.is_none_or(|selection| selection.narrow(var).is_none()) {
            return self.input(number);
        }
        let (buffer, len) = self.memory_of(number);
        self.add_input(var.ty(), buffer, len)
    }

    fn add_input(&mut self, ty: Type, buffer: Arc<Buffer>, len: usize) -> ParamId {
        self.arguments.push(Argument::Buffer(buffer, len));
        self.builder.buffer(ty, Access::Read)
    }

    /// The memory of an entry, and its length.
    fn memory_of(&self, number: u32) -> (Arc<Buffer>, usize) {
        let Entry { var, is_evaluated, .. } = *self.entry(number);
        let buffer = if is_evaluated { var.data() } else { self.outputs.get(&number).cloned() };
        let len = self.selection.filter(|_| !is_evaluated).map_or(var.lanes(), |selection| selection.len_of(var));
        (buffer.expect("an entry that is read was written before"), len)
    }

    /// Appends the operation of an entry.
    fn compute(&mut self, number: u32, block: u32) -> Option<Value> {
        if is_leaf(self.graph, self.group, number) {
            return Some(self.leaf(number));
        }
        let Entry { op, var, operands: [a, b, c], .. } = *self.entry(number);
        let value = match op {
            Op::Local | Op::LocalWrite | Op::Select | Op::Param | Op::LoopResult if local::is_local(var) => {
                return self.memory_of_lane(number, block);
            }
            Op::LaneIndex => match self.lane {
                Some(lane) => lane,
                None => self.builder.lane_index(),
            },
            Op::Broadcast => self.value(a),
            Op::Param if a == NONE => return None,
            Op::Param => self.value(a),
            Op::Cast => {
                let a = self.value(a);
                self.builder.cast(var.ty(), a)
            }
            Op::Bitcast => {
                let a = self.value(a);
                self.builder.bitcast(var.ty(), a)
            }
            Op::Unary(op) => {
                let a = self.value(a);
                self.builder.unary(op, a)
            }
            Op::Binary(op) => self.binary(op, [a, b], block),
            Op::Fma => {
                let [a, b, c] = [a, b, c].map(|operand| self.value(operand));
                self.builder.fma(a, b, c)
            }
            Op::Compare(op) => {
                let [a, b] = [a, b].map(|operand| self.value(operand));
                self.builder.compare(op, a, b)
            }
            Op::LocalRead => self.read_local(number),
            Op::Select => {
                let [mask, a, b] = [a, b, c].map(|operand| self.value(operand));
                self.builder.select(mask, a, b)
            }
            Op::Gather => self.gather(number, block),
            Op::Scatter => return self.scatter(number, block),
            Op::ScatterResult | Op::LoopResult if self.entry(number).memory != NONE => return None,
            // The first result is the array, the others are consecutive values.
            Op::ScatterResult => Value(self.values[a as usize]?.0 + var.position() as u32 - 1),
            Op::LoopResult | Op::BranchResult | Op::SwitchResult => self.result(a, var.position())?,
            // A reduction is what the kernel writes; loops and branches are emitted by their blocks; native work is no
            // part of a kernel.
            Op::Local | Op::LocalWrite | Op::Reduce(_) | Op::Native | Op::NativeResult => return None,
            Op::Loop | Op::Branch | Op::Switch => return None,
            Op::Literal | Op::Scalar | Op::Data | Op::Placeholder => self.leaf(number),
        };
        Some(value)
    }

    /// One of the results of a loop or branch, which are consecutive values.
    fn result(&self, control: u32, position: usize) -> Option<Value> {
        let first = self.values[control as usize]?;
        let index = self.parts(control).iter().position(|part| part.position == position)?;
        Some(Value(first.0 + index as u32))
    }

    fn binary(&mut self, op: BinaryOp, [a, b]: [u32; 2], block: u32) -> Value {
        // What the branches around us say about a mask need not be computed again.
        if op == BinaryOp::And && self.entry(a).var.ty() == Type::Bool {
            if self.is_implied(a, block) {
                return self.value(b);
            }
            if self.is_implied(b, block) {
                return self.value(a);
            }
        }
        let [a, b] = [a, b].map(|operand| self.value(operand));
        self.builder.binary(op, a, b)
    }

    fn gather(&mut self, number: u32, block: u32) -> Value {
        let Entry { var, operands: [source, at, mask], .. } = *self.entry(number);
        let param = self.source(source);
        let index = self.value(at);
        let mask = (mask != NONE && !self.is_implied(mask, block)).then(|| self.value(mask));
        let mask = self.in_array(AccessKind::Gather, self.entry(source).var, (at, index), mask, var.site());
        self.builder.gather(param, index, mask)
    }

    /// The lanes of an access to an array, without those whose index is out of range where that is checked.
    fn in_array(
        &mut self,
        kind: AccessKind,
        array: &Var,
        (at, index): (u32, Value),
        mask: Option<Value>,
        site: &'static Location<'static>,
    ) -> Option<Value> {
        let is_signed = self.entry(at).var.ty().is_signed_integer();
        self.in_range(CheckedAccess { kind, ty: array.ty(), width: array.lanes(), is_signed, site }, index, mask)
    }

    /// The lanes of any access by an index, without those whose index is out of range where that is checked.
    pub(super) fn in_range(&mut self, access: CheckedAccess, index: Value, mask: Option<Value>) -> Option<Value> {
        let Some(checker) = &mut self.checker else { return mask };
        Some(checker.in_range(&mut self.builder, &mut self.arguments, access, index, mask))
    }

    fn scatter(&mut self, number: u32, block: u32) -> Option<Value> {
        let effect = &self.graph.effects[self.entry(number).control as usize];
        let param = self.memory(effect.memory, effect.extra.target.ty());
        if let (Some(part), Some(checker)) = (&effect.extra.part, &mut self.checker) {
            checker.tells(part, param);
        }
        let [index, value] = [effect.index, effect.value].map(|operand| self.value(operand));
        let is_masked = effect.mask != NONE && !self.is_implied(effect.mask, block);
        let mask = is_masked.then(|| self.value(effect.mask));
        let mask = if self.is_single(number) { Some(self.first_lane(mask)) } else { mask };
        let site = self.entry(number).var.site();
        let mask = self.in_array(AccessKind::Scatter, &effect.extra.target, (effect.index, index), mask, site);
        let builder = &mut self.builder;
        match effect.extra.how {
            How::Write => builder.scatter(None, param, index, value, mask),
            How::Reduce(op) => builder.scatter(Some(op), param, index, value, mask),
            How::Atomic(op) => return Some(builder.atomic(op, param, index, value, mask)),
            How::CompareExchange => {
                let expected = self.value(effect.expected);
                return Some(self.builder.compare_exchange(param, index, expected, value, mask).0);
            }
        }
        None
    }

    /// Whether a scatter writes the same in all lanes of the kernel, so that one of them must do it.
    fn is_single(&self, scatter: u32) -> bool {
        let var = self.entry(scatter).var;
        var.lanes() == 1 && self.group.lanes.lanes != 1 && self.is_uniform(var.region())
    }

    /// Whether what has width 1 in a loop's body is the same in all lanes.
    fn is_uniform(&self, mut region: TraceRegion) -> bool {
        while region != TraceRegion::NONE {
            let around = self.group.order.iter().find_map(|&number| match self.entry(number).var.extra() {
                Some(Extra::Loop(extra)) if extra.id == region => {
                    Some((extra.is_uniform, self.entry(number).var.region()))
                }
                _ => None,
            });
            match around {
                Some((true, outer)) => region = outer,
                _ => return false,
            }
        }
        true
    }

    /// The first lane of the kernel, if a mask holds there.
    fn first_lane(&mut self, mask: Option<Value>) -> Value {
        let lane = self.builder.lane_index();
        let zero = self.builder.constant(Type::U32, 0);
        let is_first = self.builder.compare(CompareOp::Eq, lane, zero);
        match mask {
            Some(mask) => self.builder.binary(BinaryOp::And, mask, is_first),
            None => is_first,
        }
    }

    /// The parameter for memory that is written in place.
    fn memory(&mut self, memory: u32, ty: Type) -> ParamId {
        let memory = self.graph.root_memory(memory);
        if let Some(param) = self.written[memory as usize] {
            return param;
        }
        let (buffer, width) = self.buffer_of(memory);
        self.arguments.push(Argument::Buffer(buffer, width));
        let param = self.builder.buffer(ty, Access::ReadWrite);
        self.written[memory as usize] = Some(param);
        param
    }

    fn buffer_of(&self, memory: u32) -> (Arc<Buffer>, usize) {
        let (number, buffer) = match self.graph.memories[self.graph.root_memory(memory) as usize] {
            Memory::Taken(number) => (number, self.entry(number).var.data()),
            Memory::Copied(number) => (number, self.outputs.get(&number).cloned()),
            Memory::Same(_) => unreachable!("the state of a complete loop has the memory of its initial value"),
        };
        (buffer.expect("memory is written in place after it was filled"), self.entry(number).var.lanes())
    }

    /// Whether a mask is true for every lane that takes the branches around a block.
    fn is_implied(&self, mask: u32, block: u32) -> bool {
        let Some(placement) = &self.placement else { return false };
        let mut conjunction = SmallVec::<[u32; 4]>::from_slice(&[mask]);
        while let Some(mask) = conjunction.pop() {
            if placement.sides(block).any(|(branch, side)| self.says(branch, side, mask)) {
                continue;
            }
            let entry = self.entry(mask);
            match entry.op {
                Op::Binary(BinaryOp::And) if !entry.is_evaluated => conjunction.extend_from_slice(&entry.operands[..2]),
                _ => return false,
            }
        }
        true
    }

    /// Whether a mask is what the side of a branch or switch stands for.
    fn says(&self, branch: u32, side: u32, mask: u32) -> bool {
        let control = &self.graph.controls[self.entry(branch).control as usize];
        if let Extra::Switch(extra) = control.extra {
            let mask = self.entry(mask).var;
            let is_own = |(case, says): (usize, &Var)| match case == side as usize {
                true => says.is_same(mask),
                false => extra.is_exclusive && record::is_negation(mask, says),
            };
            return extra.masks.iter().enumerate().any(is_own);
        }
        let condition = control.condition;
        let is_not =
            |not: u32, of: u32| self.entry(not).op == Op::Unary(UnaryOp::Not) && self.entry(not).operands[0] == of;
        if side == 0 { mask == condition } else { is_not(mask, condition) || is_not(condition, mask) }
    }

    /// Writes a root to its memory.
    fn write(&mut self, root: u32) -> Result<(), Error> {
        let Entry { op, var, operands, memory, .. } = *self.entry(root);
        if memory != NONE {
            let (buffer, _) = self.buffer_of(memory);
            self.outputs.insert(root, buffer);
            return Ok(());
        }
        let len = self.selection.map_or(var.lanes(), |selection| selection.len_of(var));
        let buffer = Buffer::alloc(len * var.ty().size_bytes())?;
        self.outputs.insert(root, Arc::clone(&buffer));
        if session::is_recording() {
            session::note_made(&buffer, var.ty(), var.extent());
        }
        match op {
            Op::Reduce(op) => {
                let value = self.value(operands[0]);
                let param = self.builder.buffer(var.ty(), Access::Reduce);
                self.builder.reduce(op, param, value);
            }
            _ if var.lanes() == 1 && self.group.lanes.lanes != 1 => {
                let value = self.value(root);
                let param = self.builder.buffer(var.ty(), Access::ReadWrite);
                let mask = self.first_lane(None);
                let zero = self.builder.constant(Type::U32, 0);
                self.builder.scatter(None, param, zero, value, Some(mask));
            }
            _ => {
                let value = self.value(root);
                let param = self.builder.buffer(var.ty(), Access::Write);
                self.builder.store(param, value);
            }
        }
        self.arguments.push(Argument::Buffer(buffer, len));
        Ok(())
    }
}
