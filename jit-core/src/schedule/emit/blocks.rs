//! Loops, branches and switches: blocks are emitted depth first, from a work list.

use jit_runtime::ir::{BinaryOp, Type, UnaryOp, Value};
use jit_runtime::launch::{AccessKind, CheckedAccess};
use smallvec::SmallVec;

use super::super::check::Checker;
use super::Emitter;
use crate::graph::Var;
use crate::graph::op::Op;
use crate::graph::payload::{LoopPayload, Payload};
use crate::schedule::order::{NONE, Part};
use crate::schedule::place::TOP;
use crate::trace::record;

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

impl Emitter<'_, '_> {
    pub(super) fn emit_blocks(&mut self) {
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

    pub(super) fn parts(&self, number: u32) -> &'_ [Part] {
        &self.graph.controls[self.entry(number).control as usize].parts
    }

    fn begin_loop(&mut self, number: u32, block: u32, steps: &mut Vec<Step>) {
        self.enter_loop(number, block);
        let types: Vec<Type> = self.parts(number).iter().map(|part| self.entry(part.first).var.ty()).collect();
        let (region, params) = self.builder.open_region(&types);
        for (position, value) in params.into_iter().enumerate() {
            let param = self.parts(number)[position].param;
            if param != NONE {
                self.tables.values.set(param, value);
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
        self.set_line(number);
        let results = self.builder.loop_(inits, regions[0], regions[1]);
        results.first().into_iter().for_each(|&first| self.tables.values.set(number, first));
        self.check_iterations(number);
    }

    /// Reports lanes that need more iterations than their loop allows.
    fn check_iterations(&mut self, number: u32) {
        let Some(Payload::Loop(LoopPayload { bound: Some(bound), .. })) = self.entry(number).var.payload() else {
            return;
        };
        let Some(count) = self.result(number, bound.position) else { return };
        let lane = self.lane.unwrap_or_else(|| self.builder.lane_index());
        let checker = self.checker.get_or_insert_with(Checker::of_iterations);
        let site = self.graph.entries[number as usize].var.site();
        checker.iterations(&mut self.builder, &mut self.arguments, (count, lane), bound.limit, site);
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
        self.set_line(number);
        let results = self.builder.if_(condition, regions[0], regions[1]);
        results.first().into_iter().for_each(|&first| self.tables.values.set(number, first));
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
        self.set_line(number);
        self.check_call(number);
        let mut regions = self.regions[&number].to_vec();
        let Some(default) = regions.pop() else { return };
        let results = self.builder.switch(index, regions, default);
        results.first().into_iter().for_each(|&first| self.tables.values.set(number, first));
    }

    /// Reports lanes of a switch that call a missing target, if that is checked. They are masked off already.
    fn check_call(&mut self, number: u32) {
        let (control, site) =
            (&self.graph.controls[self.entry(number).control as usize], self.entry(number).var.site());
        let (Payload::Switch(payload), Some([index, mask])) = (control.payload, control.checked) else { return };
        let Some(call) = &payload.checked else { return };
        let (ty, width) = (call.index.ty(), call.count);
        let (kind, is_signed) = (AccessKind::Call(call.what.into()), ty.is_signed_integer());
        let access = CheckedAccess { kind, ty, width, is_signed, site };
        let [index, mask] = [index, mask].map(|operand| self.value(operand));
        self.in_range(access, index, Some(mask));
    }

    fn values_of(&mut self, number: u32, which: impl Fn(&Part) -> u32) -> Vec<Value> {
        let entries: SmallVec<[u32; 8]> = self.parts(number).iter().map(which).collect();
        entries.into_iter().map(|entry| self.value(entry)).collect()
    }

    /// Returns one of the results of a loop or branch, which are consecutive values.
    pub(super) fn result(&self, control: u32, position: usize) -> Option<Value> {
        let first = self.tables.values.get(control)?;
        let index = self.parts(control).iter().position(|part| part.position == position)?;
        Some(Value(first.0 + index as u32))
    }

    /// Returns whether a mask is true for every lane that takes the branches around a block.
    pub(super) fn is_implied(&self, mask: u32, block: u32) -> bool {
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

    /// Returns whether a mask is the one that a side of a branch or switch represents.
    fn says(&self, branch: u32, side: u32, mask: u32) -> bool {
        let control = &self.graph.controls[self.entry(branch).control as usize];
        if let Payload::Switch(payload) = control.payload {
            let mask = self.entry(mask).var;
            let is_own = |(case, says): (usize, &Var)| match case == side as usize {
                true => says.is_same(mask),
                false => payload.is_exclusive && record::is_negation(mask, says),
            };
            return payload.masks.iter().enumerate().any(is_own);
        }
        let condition = control.condition;
        let is_not =
            |not: u32, of: u32| self.entry(not).op == Op::Unary(UnaryOp::Not) && self.entry(not).operands[0] == of;
        if side == 0 { mask == condition } else { is_not(mask, condition) || is_not(condition, mask) }
    }
}
