//! Loops and branches.
//!
//! If all lanes take the same direction, a loop or branch is an ordinary one. Otherwise lanes that diverge are masked:
//! a loop runs while any lane is active, and lanes that have exited retain their state; a branch runs each side under
//! its mask, and skips a side that no lane takes.

use inkwell::llvm_sys::LLVMIntPredicate::LLVMIntNE;
use smallvec::SmallVec;

use super::{Codegen, Packets};
use crate::backend::llvm::analysis::Shape;
use crate::backend::llvm::emit::{Block, Conversion, Raw};
use crate::ir::{Inst, Op, RegionId, Value};

/// The number of instructions up to which both sides of a branch are computed rather than skipped.
const BOTH_SIDES_LIMIT: usize = 8;

/// One state variable of a loop.
struct State {
    param: Value,
    result: Value,
    /// The scalar phi, or one for each packet.
    phis: Packets,
    scalar: bool,
    /// The final values, if lanes exit a loop at different times but are uniform while they are in it.
    results: Option<Packets>,
}

impl Codegen<'_> {
    /// Whether any lane of the group is in the mask.
    pub(super) fn any(&self, mask: &Packets) -> Raw {
        let mut all = mask.clone();
        while all.len() > 1 {
            all = all.chunks(2).map(|pair| self.emit.or(pair[0], pair[pair.len() - 1])).collect();
        }
        if self.target.architecture == crate::backend::target::Architecture::Aarch64 {
            return self.emit.intrinsic("llvm.vector.reduce.or", &[self.emit.type_of(all[0])], &[all[0]]);
        }
        let word = self.emit.int(self.lanes);
        let bits = self.emit.convert(Conversion::Bitcast, all[0], word);
        self.emit.icmp(LLVMIntNE, bits, self.emit.zero(word))
    }

    /// Whether all lanes of the group are in the mask.
    pub(super) fn all(&self, lanes: &Packets) -> Raw {
        let others: Packets = lanes.iter().map(|&lanes| self.emit.not(lanes)).collect();
        self.emit.not(self.any(&others))
    }

    pub(super) fn all_lanes(&self) -> Packets {
        SmallVec::from_elem(self.emit.all_ones(self.emit.vector(self.emit.int(1), self.lanes)), self.packets)
    }

    /// A value in the form of its shape: one scalar, or a vector for each packet.
    pub(super) fn parts(&mut self, value: Value, scalar: bool) -> Packets {
        if scalar { SmallVec::from_elem(self.scalar(value), 1) } else { self.vectors(value) }
    }

    pub(super) fn set_parts(&mut self, value: Value, shape: Shape, parts: &Packets) {
        match shape {
            Shape::Varying => self.set_vectors(value, parts.clone()),
            shape => self.set_scalar(value, parts[0], !shape.is_scalar()),
        }
    }

    pub(super) fn phis(&self, values: &Packets, from: Block) -> Packets {
        values.iter().map(|&value| self.emit.merge(&[(value, from)])).collect()
    }

    pub(super) fn add_all_incoming(&self, phis: &Packets, values: &Packets, from: Block) {
        phis.iter().zip(values).for_each(|(&phi, &value)| self.emit.add_incoming(phi, value, from));
    }

    // --- loops

    pub(super) fn loop_(&mut self, inst: &Inst, inits: &[Value], condition: RegionId, body: RegionId) {
        if self.analysis.shape(self.kernel.region(condition).yields[0]).is_scalar() {
            self.uniform_loop(inst, inits, condition, body);
        } else {
            self.divergent_loop(inst, inits, condition, body);
        }
    }

    /// Phis for the state, at the head of a loop that is entered from a block.
    fn enter(&mut self, inst: &Inst, inits: &[Value], condition: RegionId, divergent: bool) -> (Block, Vec<State>) {
        let params = self.kernel.region(condition).params.clone();
        let mut starts = Vec::new();
        for (&init, &param) in inits.iter().zip(&params) {
            let shape = self.analysis.shape(param);
            let start = self.parts(init, shape != Shape::Varying);
            starts.push((start, shape));
        }
        let mut result_starts = Vec::new();
        for ((&init, result), (_, shape)) in inits.iter().zip(inst.values()).zip(&starts) {
            let separate = divergent && *shape != Shape::Varying && self.analysis.used[result.index()];
            result_starts.push(separate.then(|| self.vectors(init)));
        }
        self.empty_windows(condition);
        self.begin_writing(condition);
        let before = self.emit.block();
        let head = self.emit.new_block("loop");
        self.emit.br(head);
        self.emit.position_at_end(head);
        let mut states = Vec::new();
        for (position, (start, shape)) in starts.into_iter().enumerate() {
            let phis = self.phis(&start, before);
            let results = result_starts[position].as_ref().map(|start| self.phis(start, before));
            let result = Value(inst.first.0 + position as u32);
            states.push(State { param: params[position], result, phis, scalar: shape != Shape::Varying, results });
        }
        for state in &states {
            let shape = self.analysis.shape(state.param);
            self.set_parts(state.param, shape, &state.phis);
        }
        (head, states)
    }

    fn uniform_loop(&mut self, inst: &Inst, inits: &[Value], condition: RegionId, body: RegionId) {
        let (before, (head, states)) = (self.emit.block(), self.enter(inst, inits, condition, false));
        let countdown = self.count_down(condition, before);
        let outer = self.begin_iterations(condition, before);
        let [repeat, exit] = ["body", "exit"].map(|name| self.emit.new_block(name));
        self.region(condition);
        let continues = self.scalar(self.kernel.region(condition).yields[0]);
        self.emit.cond_br(continues, repeat, exit);
        self.emit.position_at_end(repeat);
        self.region(body);
        let mut next_state = Vec::new();
        for (state, &next) in states.iter().zip(&self.kernel.region(body).yields) {
            next_state.push(self.parts(next, state.scalar));
        }
        let next_iteration = self.next_iteration();
        self.repeat(countdown, head);
        let latch = self.emit.block();
        self.end_iterations(next_iteration, latch, outer);
        for (state, next) in states.iter().zip(&next_state) {
            self.add_all_incoming(&state.phis, next, latch);
        }
        self.emit.position_at_end(exit);
        self.end_writing(condition);
        for state in &states {
            let shape = self.analysis.shape(state.param);
            self.set_parts(state.result, shape, &state.phis);
        }
    }

    fn divergent_loop(&mut self, inst: &Inst, inits: &[Value], condition: RegionId, body: RegionId) {
        let outer = self.mask.take();
        let entering = outer.clone().unwrap_or_else(|| self.all_lanes());
        let (before, (head, states)) = (self.emit.block(), self.enter(inst, inits, condition, true));
        let active = self.phis(&entering, before);
        let countdown = self.count_down(condition, before);
        let [repeat, exit] = ["body", "exit"].map(|name| self.emit.new_block(name));
        self.mask = Some(active.clone());
        let around = self.begin_iterations(condition, before);
        self.region(condition);
        let wanted = self.vectors(self.kernel.region(condition).yields[0]);
        let remaining: Packets = active.iter().zip(&wanted).map(|(&a, &b)| self.emit.and(a, b)).collect();
        let any = self.any(&remaining);
        self.emit.cond_br(any, repeat, exit);

        self.emit.position_at_end(repeat);
        self.mask = Some(remaining.clone());
        self.narrow_iteration();
        self.region(body);
        let mut next_state = Vec::new();
        for (state, &next) in states.iter().zip(&self.kernel.region(body).yields) {
            next_state.push(self.next_state(state, next, &remaining));
        }
        let next_iteration = self.next_iteration();
        self.repeat(countdown, head);
        let latch = self.emit.block();
        self.end_iterations(next_iteration, latch, around);
        self.add_all_incoming(&active, &remaining, latch);
        for (state, (next, results)) in states.iter().zip(&next_state) {
            self.add_all_incoming(&state.phis, next, latch);
            if let (Some(phis), Some(results)) = (&state.results, results) {
                self.add_all_incoming(phis, results, latch);
            }
        }
        self.emit.position_at_end(exit);
        self.mask = outer;
        for state in states {
            if self.analysis.used[state.result.index()] {
                self.set_vectors(state.result, state.results.unwrap_or(state.phis));
            }
        }
    }

    /// The next value of a state variable, and the value for lanes that exit now. Lanes that have exited retain their
    /// value, unless it is not used.
    fn next_state(&mut self, state: &State, next: Value, remaining: &Packets) -> (Packets, Option<Packets>) {
        let parts = self.parts(next, state.scalar);
        let keep = |new: &Packets, old: &Packets| -> Packets {
            let lanes = new.iter().zip(old).zip(remaining);
            lanes.map(|((&new, &old), &stays)| self.emit.select(stays, new, old)).collect()
        };
        if !self.analysis.used[state.result.index()] {
            return (parts, None);
        }
        match &state.results {
            None => (keep(&parts, &state.phis), None),
            Some(_) => {
                let vectors = self.vectors(next);
                let keep = |new: &Packets, old: &Packets| -> Packets {
                    let lanes = new.iter().zip(old).zip(remaining);
                    lanes.map(|((&new, &old), &stays)| self.emit.select(stays, new, old)).collect()
                };
                (parts, state.results.as_ref().map(|old| keep(&vectors, old)))
            }
        }
    }

    // --- branches

    pub(super) fn if_(&mut self, inst: &Inst, condition: Value, then_region: RegionId, else_region: RegionId) {
        if self.analysis.shape(condition).is_scalar() {
            self.uniform_if(inst, condition, then_region, else_region);
        } else {
            self.divergent_if(inst, condition, then_region, else_region);
        }
    }

    fn uniform_if(&mut self, inst: &Inst, condition: Value, then_region: RegionId, else_region: RegionId) {
        let [then_block, else_block, join] = ["then", "else", "join"].map(|name| self.emit.new_block(name));
        self.emit.cond_br(self.scalar(condition), then_block, else_block);
        let mut sides = Vec::new();
        for (block, region) in [(then_block, then_region), (else_block, else_region)] {
            self.emit.position_at_end(block);
            self.region(region);
            let mut parts = Vec::new();
            for (result, &value) in inst.values().zip(&self.kernel.region(region).yields) {
                parts.push(self.parts(value, self.analysis.shape(result) != Shape::Varying));
            }
            sides.push((parts, self.emit.block()));
            self.emit.br(join);
        }
        self.emit.position_at_end(join);
        for (position, result) in inst.values().enumerate() {
            let (a, b) = (&sides[0].0[position], &sides[1].0[position]);
            let merge = |(&a, &b)| self.emit.merge(&[(a, sides[0].1), (b, sides[1].1)]);
            let merged: Packets = a.iter().zip(b).map(merge).collect();
            self.set_parts(result, self.analysis.shape(result), &merged);
        }
    }

    fn divergent_if(&mut self, inst: &Inst, condition: Value, then_region: RegionId, else_region: RegionId) {
        let chosen = self.vectors(condition);
        let others: Packets = chosen.iter().map(|&chosen| self.emit.not(chosen)).collect();
        let then_values = self.side(then_region, &chosen);
        let else_values = self.side(else_region, &others);
        for ((result, a), b) in inst.values().zip(&then_values).zip(&else_values) {
            let select = |((&chosen, &a), &b)| self.emit.select(chosen, a, b);
            let merged = chosen.iter().zip(a).zip(b).map(select).collect();
            self.set_vectors(result, merged);
        }
    }

    /// Runs one side of a branch for some lanes. Returns its yields.
    fn side(&mut self, region: RegionId, chosen: &Packets) -> Vec<Packets> {
        let outer = self.mask.clone();
        let and = |(&a, &b)| self.emit.and(a, b);
        let lanes = outer.as_ref().map_or_else(|| chosen.clone(), |outer| chosen.iter().zip(outer).map(and).collect());
        let yields = self.kernel.region(region).yields.clone();
        let values = if self.is_cheap(region) {
            self.mask = Some(lanes);
            self.region(region);
            yields.iter().map(|&value| self.vectors(value)).collect()
        } else {
            self.skippable_side(region, lanes, &yields)
        };
        self.mask = outer;
        values
    }

    fn skippable_side(&mut self, region: RegionId, lanes: Packets, yields: &[Value]) -> Vec<Packets> {
        // Values that were computed before need no phi.
        let is_outer: Vec<bool> = yields.iter().map(|value| self.is_defined(*value)).collect();
        let mut outer_values = Vec::new();
        for (&value, &is_outer) in yields.iter().zip(&is_outer) {
            outer_values.push(if is_outer { self.vectors(value) } else { Packets::new() });
        }
        let any = self.any(&lanes);
        let [taken, after] = ["side", "after"].map(|name| self.emit.new_block(name));
        let before = self.emit.block();
        self.emit.cond_br(any, taken, after);
        self.emit.position_at_end(taken);
        self.mask = Some(lanes);
        self.region(region);
        let mut inner = Vec::new();
        for (&value, &is_outer) in yields.iter().zip(&is_outer) {
            inner.push(if is_outer { Packets::new() } else { self.vectors(value) });
        }
        let end = self.emit.block();
        self.emit.br(after);
        self.emit.position_at_end(after);
        let merge = |&value: &Raw| {
            let skipped = self.emit.zero(self.emit.type_of(value));
            self.emit.merge(&[(value, end), (skipped, before)])
        };
        let merged = inner.iter().map(|packets| packets.iter().map(merge).collect::<Packets>());
        merged.zip(outer_values).map(|(inner, outer)| if inner.is_empty() { outer } else { inner }).collect()
    }

    fn is_defined(&self, value: Value) -> bool {
        let slot = &self.slots[value.index()];
        slot.scalar.is_some() || slot.vectors.is_some()
    }

    /// Whether the region has few operations, without effects or memory, that cost less than a branch.
    fn is_cheap(&self, region: RegionId) -> bool {
        let insts = &self.kernel.region(region).insts;
        let is_plain = |inst: &Inst| {
            !matches!(inst.op, Op::Gather { .. })
                && !matches!(inst.op, Op::LocalRead { .. } | Op::LocalWrite { .. })
                && !inst.op.writes_memory()
                && !inst.op.has_regions()
        };
        insts.len() <= BOTH_SIDES_LIMIT && insts.iter().all(is_plain)
    }
}
