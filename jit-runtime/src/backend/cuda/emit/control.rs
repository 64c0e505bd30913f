//! Loops, branches and switches. Each thread runs one lane, so lanes that take different ways are threads that branch.

use super::super::ptx::{Label, Line, Operand, Register};
use super::Emitter;
use crate::ir::{Inst, RegionId, Value};

/// Up to this many cases are compared one by one.
const COMPARED_CASES: usize = 4;

impl Emitter<'_> {
    pub(super) fn repeat(&mut self, inst: &Inst, inits: &[Value], condition: RegionId, body: RegionId) {
        let kernel = self.kernel;
        let state = &kernel.region(condition).params;
        let (next, exit) = (self.label("loop"), self.label("exit"));
        self.assign(state, inits);
        self.place(next);
        self.region(condition);
        if let Some(&continues) = kernel.region(condition).yields.first() {
            let continues = self.predicate(continues);
            self.branch(Some((continues, false)), exit);
        }
        self.region(body);
        self.assign(state, &kernel.region(body).yields);
        self.branch(None, next);
        self.place(exit);
        let results: Vec<Value> = inst.values().collect();
        self.assign(&results, state);
    }

    pub(super) fn choose(&mut self, inst: &Inst, condition: Value, then_region: RegionId, else_region: RegionId) {
        let (otherwise, end) = (self.label("else"), self.label("end_if"));
        let condition = self.predicate(condition);
        self.branch(Some((condition, false)), otherwise);
        self.arm(inst, then_region, Some(end));
        self.place(otherwise);
        self.arm(inst, else_region, None);
        self.place(end);
    }

    pub(super) fn switch(&mut self, inst: &Inst, index: Value, cases: &[RegionId], default: RegionId) {
        let labels: Vec<Label> = cases.iter().map(|_| self.label("case")).collect();
        let (otherwise, end) = (self.label("default"), self.label("end_switch"));
        let index = self.operand(index);
        if cases.len() <= COMPARED_CASES {
            for (label, position) in labels.iter().zip(0..) {
                let is_chosen = self.test("setp.eq.u32", &index, position);
                self.branch(Some((is_chosen, true)), *label);
            }
            self.branch(None, otherwise);
        } else {
            self.branch_by_table(&index, &labels, otherwise);
        }
        for (label, &case) in labels.iter().zip(cases) {
            self.place(*label);
            self.arm(inst, case, Some(end));
        }
        self.place(otherwise);
        self.arm(inst, default, None);
        self.place(end);
    }

    fn branch_by_table(&mut self, index: &Operand, labels: &[Label], otherwise: Label) {
        let is_other = self.test("setp.ge.u32", index, labels.len() as u32);
        self.branch(Some((is_other, true)), otherwise);
        let table = self.label("cases");
        self.lines.push(Line::Targets(table, labels.to_vec()));
        self.effect(None, "brx.idx", &[index.clone(), Operand::Label(table)]);
    }

    /// A region whose yields are the results of an instruction, and where the code goes on.
    fn arm(&mut self, inst: &Inst, region: RegionId, end: Option<Label>) {
        self.region(region);
        let results: Vec<Value> = inst.values().collect();
        self.assign(&results, &self.kernel.region(region).yields);
        if let Some(end) = end {
            self.branch(None, end);
        }
    }

    /// Assigns values to the registers of others, all at once: a target may be among the sources.
    fn assign(&mut self, targets: &[Value], sources: &[Value]) {
        let mut moves: Vec<(Register, Operand)> = targets
            .iter()
            .zip(sources)
            .map(|(&target, &source)| (self.result(target), self.operand(source)))
            .filter(|(target, source)| *source != Operand::from(*target))
            .collect();
        // A move whose target no other one reads can be done. If there is none, all targets are read in cycles.
        while !moves.is_empty() {
            let is_free = |target: Register| moves.iter().all(|(_, source)| *source != Operand::from(target));
            match moves.iter().position(|(target, _)| is_free(*target)) {
                Some(position) => {
                    let (target, source) = moves.remove(position);
                    self.move_to(target, &source);
                }
                None => {
                    let target = moves[0].0;
                    let saved = self.register(target.class);
                    self.move_to(saved, &target.into());
                    for (_, source) in moves.iter_mut().filter(|(_, source)| *source == Operand::from(target)) {
                        *source = saved.into();
                    }
                }
            }
        }
    }
}
