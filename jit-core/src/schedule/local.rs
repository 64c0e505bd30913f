//! Allocation of per-lane local memory: which of its versions share storage.
//!
//! A write changes its memory in place if nothing reads the previous version afterwards. Reads that can run before the
//! write are placed there. If that is impossible, or if the write is in a loop and the previous version is from outside
//! it, the write changes a copy. A loop has one storage for each memory in its state, and every iteration copies its
//! result there.
//!
//! Versions are not values of the kernel: an entry has a storage, and the order of the instructions determines which
//! version it holds.

use jit_runtime::ir::{CompareOp, LocalId, Value};
use jit_runtime::launch::{AccessKind, CheckedAccess};
use jit_runtime::{Error, ErrorKind};
use rustc_hash::FxHashMap;

use super::check::Checker;
use super::emit::Emitter;
use super::group::{Group, is_leaf};
use super::order::{Entry, Graph, NONE, Part};
use super::place::{Placement, TOP};
use crate::graph::Var;
use crate::graph::op::Op;
use crate::graph::payload::RegionId;
use crate::trace::local::{self, INDEX, PREVIOUS, VALUE, VERSION};

/// The local memories of a kernel.
#[derive(Default)]
pub(super) struct Locals {
    /// The storage of each version.
    places: FxHashMap<u32, LocalId>,
    /// The storage of each state, by its loop and its position there.
    states: FxHashMap<(u32, usize), LocalId>,
    /// The number of entries still to be emitted that need each version.
    uses: FxHashMap<u32, u32>,
    /// The entries among them that read an element.
    readers: FxHashMap<u32, Vec<u32>>,
    /// The block of each entry, of a kernel with control flow.
    blocks: Vec<u32>,
}

impl Locals {
    /// Finds what uses each version.
    pub(super) fn of(graph: &Graph<'_>, group: &Group, placement: Option<&Placement>) -> Locals {
        let mut locals = Locals::default();
        if !group.order.iter().any(|&number| graph.entries[number as usize].op == Op::Local) {
            return locals;
        }
        if let Some(placement) = placement {
            locals.blocks = vec![NONE; graph.entries.len()];
            for (block, entries) in placement.blocks.iter().enumerate() {
                entries.entries.iter().for_each(|&number| locals.blocks[number as usize] = block as u32);
            }
        }
        for &number in &group.order {
            let is_emitted = locals.blocks.is_empty() || locals.blocks[number as usize] != NONE;
            if is_emitted && !is_leaf(graph, group, number) {
                locals.count_uses(graph, number);
            }
        }
        locals
    }

    fn count_uses(&mut self, graph: &Graph<'_>, number: u32) {
        let entry = &graph.entries[number as usize];
        match entry.op {
            Op::LocalRead => {
                let version = origin(graph, entry.operands[VERSION]);
                self.count(version);
                self.readers.entry(version).or_default().push(number);
            }
            Op::LocalWrite => self.count(origin(graph, entry.operands[PREVIOUS])),
            Op::Select if local::is_local(entry.var) => {
                entry.operands[1..].iter().for_each(|&version| self.count(origin(graph, version)));
            }
            Op::Loop => {
                let parts = &graph.controls[entry.control as usize].locals;
                let versions = parts.iter().flat_map(|part| [part.first, part.second]);
                versions.for_each(|version| self.count(origin(graph, version)));
            }
            _ => {}
        }
    }

    fn count(&mut self, version: u32) {
        *self.uses.entry(version).or_default() += 1;
    }

    /// Marks an entry that needs a version as emitted.
    fn done(&mut self, version: u32) {
        if let Some(uses) = self.uses.get_mut(&version) {
            *uses = uses.saturating_sub(1);
        }
    }
}

/// Returns the version that an entry represents: the parameter of a state that its loop does not change is the initial
/// one.
fn origin(graph: &Graph<'_>, mut version: u32) -> u32 {
    while let Op::Param = graph.entries[version as usize].op {
        match graph.entries[version as usize].operands[0] {
            NONE => break,
            initial => version = initial,
        }
    }
    version
}

/// Returns the error for an evaluation of per-lane local memory.
pub(super) fn no_array(memory: &Var) -> Error {
    let text = format!("a `Local` of {} exists only inside a kernel, once per lane", memory.ty());
    Error::new(ErrorKind::NotEvaluated, text)
        .with_hint("read elements of it, as in `memory.read(&index)`, and evaluate these")
}

impl Emitter<'_, '_> {
    /// Makes a version of per-lane local memory.
    pub(super) fn memory_of_lane(&mut self, number: u32, block: u32) -> Option<Value> {
        match self.entry(number).op {
            Op::Local => self.begin_memory(number),
            Op::LocalWrite => self.write_memory(number, block),
            Op::Select => self.blend_memory(number),
            Op::LoopResult => {
                let entry = self.entry(number);
                let (control, position) = (entry.operands[0], entry.var.position());
                let place = self.locals.states[&(control, position)];
                self.locals.places.insert(number, place);
            }
            // The loop assigns storage to its parameters.
            _ => {}
        }
        None
    }

    fn begin_memory(&mut self, number: u32) {
        let entry = self.entry(number);
        let (var, value) = (entry.var, entry.operands[0]);
        // In a loop it is initialised again in each iteration.
        let is_zero = self.entry(value).var.literal() == Some(0) && entry.region == RegionId::NONE;
        let place = self.builder.local(var.ty(), var.position() as u32);
        if !is_zero {
            let value = self.value(value);
            self.builder.local_fill(place, value);
        }
        self.locals.places.insert(number, place);
    }

    fn write_memory(&mut self, number: u32, block: u32) {
        let operands = self.entry(number).operands;
        let value = self.value(operands[VALUE]);
        let index = self.local_index(AccessKind::LocalWrite, number, operands[INDEX], operands[PREVIOUS]);
        let place = self.claim(operands[PREVIOUS], self.entry(number).region, block);
        self.builder.local_write(place, index, value);
        self.locals.places.insert(number, place);
    }

    fn blend_memory(&mut self, number: u32) {
        let operands = self.entry(number).operands;
        let mask = self.value(operands[0]);
        let from = [operands[1], operands[2]].map(|version| self.take(version));
        let to = self.alike(from[0]);
        self.builder.local_select(mask, from, to);
        self.locals.places.insert(number, to);
    }

    /// Emits the read of an element of per-lane local memory.
    pub(super) fn read_local(&mut self, number: u32) -> Value {
        let operands = self.entry(number).operands;
        let index = self.local_index(AccessKind::LocalRead, number, operands[0], operands[VERSION]);
        let place = self.take(operands[VERSION]);
        self.builder.local_read(place, index)
    }

    /// Returns the value of an index, which is checked if checks are enabled.
    fn local_index(&mut self, kind: AccessKind, number: u32, index: u32, version: u32) -> Value {
        let value = self.value(index);
        let var = self.entry(index).var;
        if !self.checker.as_ref().is_some_and(Checker::checks_indices) || var.literal().is_some() {
            return value;
        }
        let (mask, checked) = self.masked_index(index, value);
        let place = self.locals.places[&origin(self.graph, version)];
        let memory = self.builder.local_memory(place);
        let site = self.entry(number).var.site();
        let (width, is_signed) = (memory.len as usize, var.ty().is_signed_integer());
        let access = CheckedAccess { kind, ty: memory.ty, width, is_signed, site };
        self.in_range(access, checked, mask);
        value
    }

    /// Returns the lanes of an access by an index, and the index on these.
    fn masked_index(&mut self, number: u32, value: Value) -> (Option<Value>, Value) {
        let Entry { var, operands, .. } = *self.entry(number);
        match operands {
            _ if local::masked_index(var).is_none() => (None, value),
            // An earlier kernel has computed it, and its mask may be unknown here.
            _ if is_leaf(self.graph, self.group, number) => {
                let nowhere = self.builder.constant(var.ty(), local::nowhere(var.ty()));
                (Some(self.builder.compare(CompareOp::Ne, value, nowhere)), value)
            }
            [mask, index, _] if mask != NONE && index != NONE => (Some(self.value(mask)), self.value(index)),
            _ => (None, value),
        }
    }

    /// Returns the storage of a version, for an entry that needs it.
    fn take(&mut self, version: u32) -> LocalId {
        let version = origin(self.graph, version);
        self.locals.done(version);
        self.locals.places[&version]
    }

    /// Returns storage with the elements of a version, for an entry of a region that will change it.
    fn claim(&mut self, version: u32, region: RegionId, block: u32) -> LocalId {
        let version = origin(self.graph, version);
        let place = self.take(version);
        if self.entry(version).region == region {
            self.read_before(version, place, block);
            if self.locals.uses.get(&version) == Some(&0) {
                return place;
            }
        }
        let copy = self.alike(place);
        self.builder.local_copy(place, copy);
        copy
    }

    /// Emits the entries that read elements of a version and can be placed here.
    fn read_before(&mut self, version: u32, place: LocalId, block: u32) {
        let readers = self.locals.readers.get(&version).cloned().unwrap_or_default();
        for reader in readers {
            let index = self.entry(reader).operands[0];
            let is_open = self.tables.values.get(reader).is_none() && self.is_within(reader, block);
            let is_there = self.tables.values.get(index).is_some() || is_leaf(self.graph, self.group, index);
            if is_open && is_there && self.is_around(index, block) {
                let index = self.local_index(AccessKind::LocalRead, reader, index, version);
                let value = self.builder.local_read(place, index);
                self.tables.values.set(reader, value);
                self.locals.done(version);
            }
        }
    }

    /// Returns whether an entry is in a block or inside it.
    fn is_within(&self, number: u32, block: u32) -> bool {
        self.locals.blocks.get(number as usize).is_none_or(|&inner| self.contains(block, inner))
    }

    /// Returns whether an entry is in a block or outside it.
    fn is_around(&self, number: u32, block: u32) -> bool {
        self.locals.blocks.get(number as usize).is_none_or(|&outer| self.contains(outer, block))
    }

    fn contains(&self, outer: u32, mut inner: u32) -> bool {
        let Some(placement) = &self.placement else { return true };
        if inner == NONE || outer == NONE {
            return false;
        }
        while inner != outer && inner != TOP {
            inner = placement.blocks[inner as usize].parent;
        }
        inner == outer
    }

    fn alike(&mut self, place: LocalId) -> LocalId {
        let memory = self.builder.local_memory(place);
        self.builder.local(memory.ty, memory.len)
    }

    fn local_parts(&self, control: u32) -> Vec<Part> {
        self.graph.controls[self.entry(control).control as usize].locals.clone()
    }

    /// Assigns storage to each memory in the state of a loop.
    pub(super) fn enter_loop(&mut self, number: u32, block: u32) {
        let region = self.entry(number).region;
        for part in self.local_parts(number) {
            let place = self.claim(part.first, region, block);
            self.locals.states.insert((number, part.position), place);
            if part.param != NONE {
                self.locals.places.insert(part.param, place);
            }
        }
    }

    /// Copies the results of an iteration to the storage of the loop's state, all at once.
    pub(super) fn end_iteration(&mut self, number: u32) {
        let mut moves = Vec::new();
        for part in self.local_parts(number) {
            let (from, to) = (self.take(part.second), self.locals.states[&(number, part.position)]);
            if from != to {
                moves.push((from, to));
            }
        }
        if moves.len() > 1 {
            for (from, _) in &mut moves {
                let copy = self.alike(*from);
                self.builder.local_copy(*from, copy);
                *from = copy;
            }
        }
        moves.into_iter().for_each(|(from, to)| self.builder.local_copy(from, to));
    }
}
