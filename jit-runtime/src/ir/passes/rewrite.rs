//! Rewrites a kernel instruction by instruction: the common part of the passes.

use crate::ir::builder::Builder;
use crate::ir::kernel::{Inst, Kernel, LocalMemory, Param, RegionId, TOP, Value};
use crate::ir::op::Op;

/// Determines the replacement of each instruction.
pub(super) trait Rewrite {
    /// Writes the replacement of an instruction and defines its results by [`Rewriter::define`]. Returns false if the
    /// instruction is to be copied instead.
    fn inst(&mut self, to: &mut Rewriter<'_>, inst: &Inst) -> bool;

    /// A nested region starts.
    fn enter(&mut self) {}

    /// Values written since the last [`Rewrite::enter`] are no longer visible. For a loop, condition and body end
    /// together.
    fn exit_region(&mut self) {}
}

/// The kernel being written, and the new value for each old one.
pub(super) struct Rewriter<'a> {
    pub(super) old: &'a Kernel,
    pub(super) new: Builder,
    map: Vec<Value>,
}

/// Writes a kernel anew.
pub(super) fn rewrite(kernel: &mut Kernel, rewrite: &mut impl Rewrite) {
    let mut new = Builder::with_capacity(kernel.region(TOP).insts.len());
    for &param in &kernel.params {
        match param {
            Param::Buffer { ty, access } => new.buffer(ty, access),
            Param::Scalar { ty } => new.scalar_param(ty),
        };
    }
    if kernel.lines.are_recorded() {
        new.record_lines();
    }
    for &LocalMemory { ty, len } in &kernel.locals {
        new.local(ty, len);
    }
    let mut rewriter = Rewriter { old: kernel, new, map: vec![Value(u32::MAX); kernel.types.len()] };
    rewriter.insts(rewrite, TOP);
    *kernel = rewriter.new.finish();
}

impl Rewriter<'_> {
    /// The new value for an old one.
    pub(super) fn value(&self, old: Value) -> Value {
        self.map[old.index()]
    }

    /// Sets the new value for an old one from here on.
    pub(super) fn define(&mut self, old: Value, new: Value) {
        self.map[old.index()] = new;
    }

    /// An operation with its operands replaced by their new values; regions are still the old ones.
    pub(super) fn op(&self, op: &Op) -> Op {
        let mut op = op.clone();
        op.map_operands(|value| self.value(value));
        op
    }

    /// Writes the instructions of an old region at the current position in the new kernel.
    pub(super) fn insts(&mut self, rewrite: &mut impl Rewrite, region: RegionId) {
        let old = self.old;
        let has_lines = old.lines.are_recorded();
        let outer = self.new.lines().next();
        for (position, inst) in old.region(region).insts.iter().enumerate() {
            if has_lines {
                self.new.lines().set_next(old.lines.of(region, position));
            }
            if !rewrite.inst(self, inst) {
                self.copy(rewrite, inst);
            }
        }
        if has_lines {
            self.new.lines().set_next(outer);
        }
    }

    /// Writes an old region as a new one with the same yields.
    fn region(&mut self, rewrite: &mut impl Rewrite, region: RegionId) -> RegionId {
        let old = self.old.region(region);
        let yields = (0..old.yields.len()).collect::<Vec<_>>();
        self.region_with(rewrite, region, &(0..old.params.len()).collect::<Vec<_>>(), &yields)
    }

    /// Writes one side of a branch.
    fn branch(&mut self, rewrite: &mut impl Rewrite, region: RegionId) -> RegionId {
        rewrite.enter();
        let region = self.region(rewrite, region);
        rewrite.exit_region();
        region
    }

    /// Writes an old region as a new one with some of its parameters and yields, selected by position.
    pub(super) fn region_with(
        &mut self,
        rewrite: &mut impl Rewrite,
        region: RegionId,
        params: &[usize],
        yields: &[usize],
    ) -> RegionId {
        let old = self.old.region(region);
        let types: Vec<_> = params.iter().map(|&param| self.old.ty(old.params[param])).collect();
        let (id, new_params) = self.new.open_region(&types);
        for (&param, &new) in params.iter().zip(&new_params) {
            self.define(old.params[param], new);
        }
        self.insts(rewrite, region);
        let yields = yields.iter().map(|&index| self.value(old.yields[index])).collect();
        self.new.close_region(yields);
        id
    }

    /// Copies an instruction unchanged, with rewritten regions.
    pub(super) fn copy(&mut self, rewrite: &mut impl Rewrite, inst: &Inst) {
        let mut op = self.op(&inst.op);
        match &mut op {
            Op::Loop { condition, body, .. } => {
                rewrite.enter();
                *condition = self.region(rewrite, *condition);
                *body = self.region(rewrite, *body);
                rewrite.exit_region();
            }
            Op::If { then_region, else_region, .. } => {
                for region in [then_region, else_region] {
                    *region = self.branch(rewrite, *region);
                }
            }
            Op::Switch { cases, default, .. } => {
                for region in cases.iter_mut().chain([default]) {
                    *region = self.branch(rewrite, *region);
                }
            }
            _ => {}
        }
        self.append(op, inst);
    }

    /// Appends an operation whose results replace those of an old instruction.
    pub(super) fn append(&mut self, op: Op, inst: &Inst) {
        // Most instructions have one result, which needs no lists.
        if inst.results == 1 {
            let new = self.new.append_one(op, self.old.ty(inst.first));
            return self.define(inst.first, new);
        }
        let types: Vec<_> = inst.values().map(|value| self.old.ty(value)).collect();
        let results = self.new.append(op, &types);
        for (old, new) in inst.values().zip(results) {
            self.define(old, new);
        }
    }
}
