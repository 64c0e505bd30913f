//! Accesses to arrays by an index: gathers, scatters, and memory that is written in place.

use std::sync::Arc;

use jit_runtime::Site;
use jit_runtime::ir::{Access, BinaryOp, CompareOp, ParamId, Type, Value};
use jit_runtime::launch::{AccessKind, Argument, CheckedAccess};
use jit_runtime::memory::Buffer;

use super::Emitter;
use crate::graph::Var;
use crate::graph::payload::{How, Payload, RegionId as TraceRegion};
use crate::schedule::effect::Memory;
use crate::schedule::order::{Entry, NONE};

impl Emitter<'_, '_> {
    pub(super) fn gather(&mut self, number: u32, block: u32) -> Value {
        let Entry { var, operands: [source, at, mask], .. } = *self.entry(number);
        let param = self.source(source);
        let index = self.value(at);
        let mask = (mask != NONE && !self.is_implied(mask, block)).then(|| self.value(mask));
        let mask = self.in_array(AccessKind::Gather, self.entry(source).var, (at, index), mask, var.site());
        self.builder.gather(param, index, mask)
    }

    /// Returns the lanes of an access to an array, without those whose index is out of range if that is checked.
    fn in_array(
        &mut self,
        kind: AccessKind,
        array: &Var,
        (at, index): (u32, Value),
        mask: Option<Value>,
        site: Site,
    ) -> Option<Value> {
        let is_signed = self.entry(at).var.ty().is_signed_integer();
        self.in_range(CheckedAccess { kind, ty: array.ty(), width: array.lanes(), is_signed, site }, index, mask)
    }

    /// Returns the lanes of any access by an index, without those whose index is out of range if that is checked.
    pub(in crate::schedule) fn in_range(
        &mut self,
        access: CheckedAccess,
        index: Value,
        mask: Option<Value>,
    ) -> Option<Value> {
        let Some(checker) = self.checker.as_mut().filter(|checker| checker.checks_indices()) else { return mask };
        Some(checker.in_range(&mut self.builder, &mut self.arguments, access, index, mask))
    }

    pub(super) fn scatter(&mut self, number: u32, block: u32) -> Option<Value> {
        let effect = &self.graph.effects[self.entry(number).control as usize];
        let param = self.memory(effect.memory, effect.payload.target.ty());
        if let (Some(part), Some(checker)) = (&effect.payload.part, &mut self.checker) {
            checker.note_report(part, param);
        }
        let [index, value] = [effect.index, effect.value].map(|operand| self.value(operand));
        let is_masked = effect.mask != NONE && !self.is_implied(effect.mask, block);
        let mask = is_masked.then(|| self.value(effect.mask));
        let mask = if self.is_single(number) { Some(self.first_lane(mask)) } else { mask };
        let site = self.entry(number).var.site();
        let mask = self.in_array(AccessKind::Scatter, &effect.payload.target, (effect.index, index), mask, site);
        let builder = &mut self.builder;
        match effect.payload.how {
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

    /// Returns whether a scatter writes the same in all lanes of the kernel, so that only one of them must do it.
    fn is_single(&self, scatter: u32) -> bool {
        let var = self.entry(scatter).var;
        var.lanes() == 1 && self.group.lanes.lanes != 1 && self.is_uniform(var.region())
    }

    /// Returns whether values of width 1 in a loop's body are the same in all lanes.
    fn is_uniform(&self, mut region: TraceRegion) -> bool {
        while region != TraceRegion::NONE {
            let around = self.group.order.iter().find_map(|&number| match self.entry(number).var.payload() {
                Some(Payload::Loop(payload)) if payload.id == region => {
                    Some((payload.is_uniform, self.entry(number).var.region()))
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

    /// Returns the first lane of the kernel, if a mask holds there.
    pub(super) fn first_lane(&mut self, mask: Option<Value>) -> Value {
        let lane = self.builder.lane_index();
        let zero = self.builder.constant(Type::U32, 0);
        let is_first = self.builder.compare(CompareOp::Eq, lane, zero);
        match mask {
            Some(mask) => self.builder.binary(BinaryOp::And, mask, is_first),
            None => is_first,
        }
    }

    /// Returns the parameter for memory that is written in place.
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

    pub(super) fn buffer_of(&self, memory: u32) -> (Arc<Buffer>, usize) {
        let (number, buffer) = match self.graph.memories[self.graph.root_memory(memory) as usize] {
            Memory::Taken(number) => (number, self.entry(number).var.data()),
            Memory::Copied(number) => (number, self.outputs.get(&number).cloned()),
            Memory::Same(_) => unreachable!("the state of a complete loop has the memory of its initial value"),
        };
        (buffer.expect("memory is written in place after it was filled"), self.entry(number).var.lanes())
    }
}
