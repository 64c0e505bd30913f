//! Building the kernel of a group.
//!
//! Without control flow, entries are appended in their order; with control flow, block by block (`blocks`). Accesses to
//! arrays by an index are in `access`.

mod access;
mod blocks;
mod tables;

use std::sync::Arc;

use jit_runtime::dump;
use jit_runtime::ir::{Access, BinaryOp, Builder, Kernel, ParamId, RegionId, Type, Value};
use jit_runtime::launch::{self, Argument, Checks};
use jit_runtime::memory::Buffer;
use jit_runtime::recording::Scalar;
use jit_runtime::{Error, Site};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

pub(super) use self::tables::Tables;
use super::check::Checker;
use super::group::{Group, is_leaf};
use super::inspect::{self, Place, Places};
use super::local::Locals;
use super::order::{Entry, Graph, NONE};
use super::place::{Placement, TOP, place};
use super::selected::Selection;
use crate::capture::launches;
use crate::graph::Var;
use crate::graph::device::Devices;
use crate::graph::op::Op;
use crate::trace::local;

/// Memory that kernels of this evaluation write, by entry.
pub(super) type Outputs = FxHashMap<u32, Arc<Buffer>>;

/// Memory of temporary values that no later kernel reads.
#[derive(Default)]
pub(super) struct Spare(Vec<Arc<Buffer>>);

impl Spare {
    /// Adds memory that only launches before the next one use.
    pub(super) fn add(&mut self, buffer: Arc<Buffer>) {
        self.0.push(buffer);
    }

    /// Returns memory of some bytes, all of which the next kernel writes.
    pub(super) fn take(&mut self, bytes: usize) -> Result<Arc<Buffer>, Error> {
        match self.0.iter().position(|buffer| buffer.size_bytes() == bytes) {
            Some(position) => Ok(self.0.swap_remove(position)),
            // SAFETY: the kernel writes the element of each lane, or the result of each reduction.
            None => unsafe { launch::alloc_result(bytes) },
        }
    }
}

/// A kernel with its launch arguments.
pub(super) struct Emitted {
    pub(super) kernel: Kernel,
    pub(super) arguments: Vec<Argument>,
    pub(super) literals: Literals,
    pub(super) checks: Option<Checks>,
    pub(super) noted: Noted,
    /// The entries that the arguments belong to, of kernels that only read and write arrays by lane and gather.
    pub(super) argument_entries: Vec<u32>,
    /// The entries of the literals.
    pub(super) literal_entries: SmallVec<[u32; 8]>,
    /// The nodes of its values, if the launch is inspected.
    pub(super) places: Option<Box<Places>>,
}

/// Properties of the arguments for a recording, by position; empty if there is none.
#[derive(Default)]
pub(super) struct Noted {
    pub(super) scalars: Vec<(usize, Scalar)>,
    pub(super) inputs: Vec<(usize, Var)>,
}

/// The literals of a kernel, and the lines that made them.
pub(super) type Literals = SmallVec<[(Value, Site); 8]>;

pub(super) struct Emitter<'a, 'e> {
    pub(super) graph: &'a Graph<'e>,
    pub(super) group: &'a Group,
    outputs: &'a mut Outputs,
    spare: &'a mut Spare,
    /// The lanes that are computed, unless all are.
    selection: Option<&'a Selection>,
    pub(super) placement: Option<Placement>,
    pub(super) builder: Builder,
    arguments: Vec<Argument>,
    literals: Literals,
    noted: Noted,
    argument_entries: Vec<u32>,
    literal_entries: SmallVec<[u32; 8]>,
    pub(super) tables: &'a mut Tables,
    /// Parameters for memory that is written in place.
    written: Vec<Option<ParamId>>,
    /// The finished regions of loops, branches and switches that have been built.
    regions: FxHashMap<u32, SmallVec<[RegionId; 2]>>,
    pub(super) checker: Option<Checker>,
    pub(super) locals: Locals,
    /// The lane number, if only some lanes are computed.
    pub(super) lane: Option<Value>,
}

/// Places the entries of a group with control flow.
///
/// # Errors
///
/// When loops and branches nest too deep for a kernel.
pub(super) fn placement(graph: &Graph<'_>, group: &Group) -> Result<Option<Placement>, Error> {
    let has_control =
        !graph.controls.is_empty() && group.order.iter().any(|&number| graph.entries[number as usize].is_control());
    has_control.then(|| place(graph, group)).transpose()
}

/// Builds the kernel of a group.
pub(super) fn emit(
    graph: &Graph<'_>,
    group: &Group,
    outputs: &mut Outputs,
    spare: &mut Spare,
    tables: &mut Tables,
) -> Result<Emitted, Error> {
    tables.clear();
    let mut builder = Builder::with_capacity(group.order.len() + group.roots.len());
    if dump::are_lines_wanted() {
        builder.record_lines();
    }
    let emitter = Emitter {
        graph,
        group,
        outputs,
        spare,
        selection: graph.selection.filter(|selection| group.is_selected(selection)),
        placement: placement(graph, group)?,
        builder,
        arguments: Vec::with_capacity(8),
        literals: SmallVec::new(),
        noted: Noted::default(),
        argument_entries: Vec::with_capacity(8),
        literal_entries: SmallVec::new(),
        tables,
        written: vec![None; graph.memories.len()],
        regions: FxHashMap::default(),
        checker: Checker::wanted(),
        locals: Locals::default(),
        lane: None,
    };
    emitter.run()
}

impl<'e> Emitter<'_, 'e> {
    fn run(mut self) -> Result<Emitted, Error> {
        self.locals = Locals::of(self.graph, self.group, self.placement.as_ref());
        self.select_lanes()?;
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
        let is_inspected = inspect::is_on() && !launches::is_recording();
        let places = is_inspected.then(|| Box::new(self.places()));
        Ok(Emitted {
            places,
            kernel: self.builder.finish(),
            arguments: self.arguments,
            literals: self.literals,
            checks,
            noted: self.noted,
            argument_entries: self.argument_entries,
            literal_entries: self.literal_entries,
        })
    }

    /// Returns the nodes of the values and of the memory. A value that several nodes have is that of the first one.
    fn places(&self) -> Places {
        let mut places = Places { lanes: self.selection.map(|all| all.lanes.clone()), ..Places::default() };
        let mut known = FxHashSet::default();
        for (entry, number) in self.graph.entries.iter().zip(0..) {
            if let Some(value) = self.tables.values.get(number)
                && known.insert(value)
            {
                places.values.push((value, Place::of(entry.var)));
            }
        }
        let memory = |(param, argument): (u32, &Argument)| match argument {
            Argument::Buffer(buffer, _) => Some((ParamId(param), self.place_of_memory(buffer)?)),
            Argument::Scalar(_) => None,
        };
        places.params = (0..).zip(&self.arguments).filter_map(memory).collect();
        places
    }

    /// Returns the last node whose elements a buffer holds: what was written in place is later than what was there.
    fn place_of_memory(&self, buffer: &Arc<Buffer>) -> Option<Place> {
        let is_there = |(number, entry): &(u32, &Entry<'_>)| match self.outputs.get(number) {
            Some(output) => Arc::ptr_eq(output, buffer),
            None => entry.is_evaluated && entry.var.data().is_some_and(|data| Arc::ptr_eq(&data, buffer)),
        };
        let last = (0..).zip(&self.graph.entries).filter(is_there).last();
        last.map(|(_, entry)| Place::of(entry.var))
    }

    /// Reads the lane numbers if only some lanes are computed.
    fn select_lanes(&mut self) -> Result<(), Error> {
        if let Some((buffer, len)) = self.selection.and_then(|all| Some((all.lanes.data()?, all.lanes.lanes()))) {
            self.arguments.push(Argument::Buffer(buffer.on_current_device()?, len));
            let param = self.builder.buffer(Type::U32, Access::Read);
            self.lane = Some(self.builder.load(param));
        }
        Ok(())
    }

    /// Returns whether the elements of an entry are in memory for the computed lanes.
    fn is_at_hand(&self, number: u32) -> bool {
        let (var, is_written) = (self.entry(number).var, self.outputs.contains_key(&number));
        is_written || self.selection.is_some_and(|selection| selection.narrow(var).is_some())
    }

    pub(super) fn entry(&self, number: u32) -> &Entry<'e> {
        &self.graph.entries[number as usize]
    }

    /// Emits a kernel without control flow: leaves are read when they are first used.
    fn emit_line(&mut self) {
        for position in 0..self.group.order.len() {
            let number = self.group.order[position];
            if !is_leaf(self.graph, self.group, number) {
                self.emit_value(number, TOP);
            }
        }
    }

    /// Returns the value of an entry; reads a leaf here if it has not been read before.
    pub(super) fn value(&mut self, number: u32) -> Value {
        if let Some(value) = self.tables.values.get(number) {
            return value;
        }
        let value = self.leaf(number);
        self.tables.values.set(number, value);
        value
    }

    /// The instructions that follow are from the line of an entry.
    pub(super) fn set_line(&mut self, number: u32) {
        if self.builder.records_lines() {
            self.builder.set_line(self.entry(number).var.site());
        }
    }

    fn emit_value(&mut self, number: u32, block: u32) {
        if self.tables.values.get(number).is_none()
            && let Some(value) = self.compute(number, block)
        {
            self.tables.values.set(number, value);
        }
    }

    /// Reads a value from memory, or returns a known one.
    fn leaf(&mut self, number: u32) -> Value {
        let Entry { op, var, .. } = *self.entry(number);
        match (op, var.known_bits()) {
            (Op::Literal, Some(bits)) => {
                let value = self.builder.constant(var.ty(), bits);
                self.literals.push((value, var.site()));
                self.literal_entries.push(number);
                value
            }
            (_, Some(bits)) => {
                if launches::is_recording() {
                    let position = self.arguments.len();
                    self.noted.scalars.extend(launches::scalar_of(var).map(|scalar| (position, scalar)));
                }
                self.arguments.push(Argument::Scalar(bits));
                self.argument_entries.push(number);
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

    /// Returns the parameter for the memory of an entry, of which lanes read their own elements.
    fn input(&mut self, number: u32) -> ParamId {
        if let Some(param) = self.tables.inputs.get(number) {
            return param;
        }
        let var = self.entry(number).var;
        let narrow = self.selection.and_then(|selection| Some((selection.narrow(var)?, selection.len_of(var))));
        let (buffer, len) = narrow.unwrap_or_else(|| self.memory_of(number));
        if launches::is_recording() {
            self.noted.inputs.push((self.arguments.len(), var.clone()));
        }
        self.argument_entries.push(number);
        let param = self.add_input(var.ty(), buffer, len);
        self.tables.inputs.set(number, param);
        param
    }

    /// Returns the parameter for the memory of an entry, with all its elements.
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

    /// Returns the memory of an entry, and its length.
    fn memory_of(&self, number: u32) -> (Arc<Buffer>, usize) {
        let Entry { var, is_evaluated, .. } = *self.entry(number);
        let made = || self.outputs.get(&number).cloned();
        let buffer = match is_evaluated {
            // Those of another machine have been copied.
            true if var.devices() == Devices::NONE => made().or_else(|| var.data()),
            true => var.data(),
            false => made(),
        };
        let len = self.selection.filter(|_| !is_evaluated).map_or(var.lanes(), |selection| selection.len_of(var));
        (buffer.expect("an entry that is read was written before"), len)
    }

    /// Appends the operation of an entry.
    fn compute(&mut self, number: u32, block: u32) -> Option<Value> {
        if is_leaf(self.graph, self.group, number) {
            return Some(self.leaf(number));
        }
        self.set_line(number);
        let Entry { op, var, operands: [a, b, c], .. } = *self.entry(number);
        let value = match op {
            Op::Local | Op::LocalWrite | Op::Select | Op::Param | Op::LoopResult if local::is_local(var) => {
                return self.memory_of_lane(number, block);
            }
            Op::LaneIndex => match self.lane {
                Some(lane) => lane,
                None => self.builder.lane_index(),
            },
            Op::Broadcast | Op::Identity => self.value(a),
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
            Op::ScatterResult => Value(self.tables.values.get(a)?.0 + var.position() as u32 - 1),
            Op::LoopResult | Op::BranchResult | Op::SwitchResult => self.result(a, var.position())?,
            // A reduction is what the kernel writes; loops and branches are emitted by their blocks; a library call is
            // not part of a kernel.
            Op::Local | Op::LocalWrite | Op::Reduce(_) | Op::LibraryCall | Op::LibraryResult => return None,
            Op::Loop | Op::Branch | Op::Switch => return None,
            Op::Literal | Op::Scalar | Op::Data | Op::Placeholder => self.leaf(number),
        };
        Some(value)
    }

    fn binary(&mut self, op: BinaryOp, [a, b]: [u32; 2], block: u32) -> Value {
        // Masks implied by the surrounding branches need not be computed again.
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

    /// Writes a root to its memory.
    fn write(&mut self, root: u32) -> Result<(), Error> {
        self.set_line(root);
        let Entry { op, var, operands, memory, .. } = *self.entry(root);
        if memory != NONE {
            let (buffer, _) = self.buffer_of(memory);
            self.outputs.insert(root, buffer);
            return Ok(());
        }
        let len = self.selection.map_or(var.lanes(), |selection| selection.len_of(var));
        let bytes = len * var.ty().size_bytes();
        let buffer = match launches::unwritten()? {
            Some(unwritten) => unwritten,
            // A recording has a plan of its memory.
            None if self.entry(root).is_temporary && !launches::is_recording() => self.spare.take(bytes)?,
            // SAFETY: the kernel writes the element of each lane, or the result of each reduction.
            None => unsafe { launch::alloc_result(bytes)? },
        };
        self.outputs.insert(root, Arc::clone(&buffer));
        if launches::is_recording() {
            launches::note_made(&buffer, var.ty(), var.extent());
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
        self.argument_entries.push(root);
        Ok(())
    }
}
