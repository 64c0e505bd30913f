//! Removes dead code: instructions, loop state, results of branches, loops and branches themselves, and writes to local
//! memory that is never read.
//!
//! A loop that only computes unused values is removed too: whether it would terminate is not observable.

use super::rewrite::{Rewrite, Rewriter, rewrite};
use crate::ir::kernel::{Inst, Kernel, LocalId, RegionId, TOP, Value};
use crate::ir::op::Op;

/// Runs the pass.
pub fn run(kernel: &mut Kernel) {
    let live = Liveness::of(kernel);
    let is_all_live = live.values.iter().all(|&live| live) && live.insts.iter().flatten().all(|&live| live);
    if !is_all_live {
        rewrite(kernel, &mut EliminateDead { live });
    }
}

/// The definition of a value: the region, the instruction in it, and which of its results. For a parameter of a region,
/// the instruction that owns the region.
#[derive(Clone, Copy)]
struct Definition {
    region: RegionId,
    inst: usize,
    result: usize,
}

struct Liveness {
    values: Vec<bool>,
    /// By region and instruction.
    insts: Vec<Vec<bool>>,
    /// Whether a live instruction reads it.
    locals: Vec<bool>,
}

struct Marker<'a> {
    kernel: &'a Kernel,
    live: Liveness,
    definitions: Vec<Definition>,
    /// The instruction that owns each region; the top region owns itself.
    owners: Vec<(RegionId, usize)>,
    /// Where each local memory is written.
    local_writes: Vec<Vec<(RegionId, usize)>>,
    /// Values that became live and are not visited yet.
    pending: Vec<Value>,
}

impl Liveness {
    fn of(kernel: &Kernel) -> Self {
        let nowhere = Definition { region: TOP, inst: 0, result: 0 };
        let live = Liveness {
            values: vec![false; kernel.types.len()],
            insts: kernel.regions.iter().map(|region| vec![false; region.insts.len()]).collect(),
            locals: vec![false; kernel.locals.len()],
        };
        let mut marker = Marker {
            kernel,
            live,
            definitions: vec![nowhere; kernel.types.len()],
            owners: vec![(TOP, usize::MAX); kernel.regions.len()],
            local_writes: vec![Vec::new(); kernel.locals.len()],
            pending: Vec::new(),
        };
        marker.locate();
        marker.mark_writes();
        while let Some(value) = marker.pending.pop() {
            marker.visit(value);
        }
        marker.live
    }

    fn is_live(&self, value: Value) -> bool {
        self.values[value.index()]
    }
}

impl Marker<'_> {
    /// Records where values are defined and which instruction owns which region.
    fn locate(&mut self) {
        for (region, content) in self.kernel.regions.iter().enumerate() {
            let region = RegionId(region as u32);
            for (index, inst) in content.insts.iter().enumerate() {
                if let Op::LocalWrite { local, .. } = inst.op {
                    self.local_writes[local.index()].push((region, index));
                }
                for (result, value) in inst.values().enumerate() {
                    self.definitions[value.index()] = Definition { region, inst: index, result };
                }
                for owned in inst.op.regions() {
                    self.owners[owned.index()] = (region, index);
                    for (result, param) in self.kernel.region(owned).params.iter().enumerate() {
                        self.definitions[param.index()] = Definition { region, inst: index, result };
                    }
                }
            }
        }
    }

    fn mark_writes(&mut self) {
        for (region, content) in self.kernel.regions.iter().enumerate() {
            for (index, inst) in content.insts.iter().enumerate() {
                if inst.op.writes_memory() {
                    self.mark_inst(RegionId(region as u32), index);
                }
            }
        }
    }

    fn mark(&mut self, value: Value) {
        if !self.live.values[value.index()] {
            self.live.values[value.index()] = true;
            self.pending.push(value);
        }
    }

    /// Marks an instruction, its unconditional operands, and the enclosing instructions.
    fn mark_inst(&mut self, mut region: RegionId, mut index: usize) {
        let kernel = self.kernel;
        while index != usize::MAX && !self.live.insts[region.index()][index] {
            self.live.insts[region.index()][index] = true;
            match &kernel.region(region).insts[index].op {
                // State variables are marked one by one.
                Op::Loop { condition, .. } => self.mark(kernel.region(*condition).yields[0]),
                op => op.for_each_operand(|value| self.mark(value)),
            }
            (region, index) = self.owners[region.index()];
        }
    }

    /// Marks the operands of a live value.
    fn visit(&mut self, value: Value) {
        let Definition { region, inst, result } = self.definitions[value.index()];
        self.mark_inst(region, inst);
        let kernel = self.kernel;
        match &kernel.region(region).insts[inst].op {
            Op::Loop { inits, condition, body } => {
                // The state is carried as a whole: before, within and after the loop.
                self.mark(inits[result]);
                self.mark(kernel.region(*condition).params[result]);
                self.mark(kernel.region(*body).yields[result]);
            }
            op @ (Op::If { .. } | Op::Switch { .. }) => {
                op.regions().for_each(|region| self.mark(kernel.region(region).yields[result]));
            }
            Op::LocalRead { local, .. } => self.mark_local(*local),
            _ => {}
        }
    }

    /// Marks the writes to memory that is read.
    fn mark_local(&mut self, local: LocalId) {
        if !std::mem::replace(&mut self.live.locals[local.index()], true) {
            for (region, index) in std::mem::take(&mut self.local_writes[local.index()]) {
                self.mark_inst(region, index);
            }
        }
    }
}

struct EliminateDead {
    live: Liveness,
}

impl EliminateDead {
    fn positions(&self, values: &[Value]) -> Vec<usize> {
        (0..values.len()).filter(|&index| self.live.is_live(values[index])).collect()
    }

    fn is_dead(&self, kernel: &Kernel, inst: &Inst) -> bool {
        !inst.values().any(|value| self.live.is_live(value)) && !self.has_effect(kernel, inst)
    }

    /// Whether an instruction, or one in the regions that it owns, has an observable effect.
    fn has_effect(&self, kernel: &Kernel, inst: &Inst) -> bool {
        let is_read = |local: LocalId| self.live.locals[local.index()];
        inst.op.writes_memory()
            || matches!(inst.op, Op::LocalWrite { local, .. } if is_read(local))
            || inst
                .op
                .regions()
                .any(|region| kernel.region(region).insts.iter().any(|inst| self.has_effect(kernel, inst)))
    }

    fn loop_(&mut self, to: &mut Rewriter<'_>, inst: &Inst, inits: &[Value], regions: [RegionId; 2]) {
        // A parameter is live where the result is live, and also where only the loop itself reads it.
        let [condition, body] = regions;
        let state = self.positions(&to.old.region(condition).params);
        let inits = state.iter().map(|&index| to.value(inits[index])).collect();
        let condition = to.region_with(self, condition, &state, &[0]);
        let body = to.region_with(self, body, &[], &state);
        let results = to.new.loop_(inits, condition, body);
        self.define(to, inst, &state, &results);
    }

    fn if_(&mut self, to: &mut Rewriter<'_>, inst: &Inst, condition: Value, regions: [RegionId; 2]) {
        let results: Vec<Value> = inst.values().collect();
        let live = self.positions(&results);
        let condition = to.value(condition);
        let [then_region, else_region] = regions.map(|region| to.region_with(self, region, &[], &live));
        let results = to.new.if_(condition, then_region, else_region);
        self.define(to, inst, &live, &results);
    }

    fn switch(&mut self, to: &mut Rewriter<'_>, inst: &Inst, index: Value, cases: &[RegionId], default: RegionId) {
        let results: Vec<Value> = inst.values().collect();
        let live = self.positions(&results);
        let index = to.value(index);
        let cases = cases.iter().map(|&case| to.region_with(self, case, &[], &live)).collect();
        let default = to.region_with(self, default, &[], &live);
        let results = to.new.switch(index, cases, default);
        self.define(to, inst, &live, &results);
    }

    fn define(&self, to: &mut Rewriter<'_>, inst: &Inst, positions: &[usize], results: &[Value]) {
        for (&position, &result) in positions.iter().zip(results) {
            to.define(Value(inst.first.0 + position as u32), result);
        }
    }
}

impl Rewrite for EliminateDead {
    fn inst(&mut self, to: &mut Rewriter<'_>, inst: &Inst) -> bool {
        match inst.op {
            _ if self.is_dead(to.old, inst) => {}
            Op::Loop { ref inits, condition, body } => self.loop_(to, inst, inits, [condition, body]),
            Op::If { condition, then_region, else_region } => self.if_(to, inst, condition, [then_region, else_region]),
            Op::Switch { index, ref cases, default } => self.switch(to, inst, index, cases, default),
            _ => return false,
        }
        true
    }
}
