//! Determines which indices are in range of their buffers, and on which lanes.
//!
//! Two kinds of index need no check at each access. The lane's number plus a shared offset is in range on an interval
//! of lanes. A value with a [`Bound`], such as `x & 255`, `x.min(99)` or the counter of a loop, is in range on all
//! lanes if the buffer is long enough. Both are known before the first lane runs, so groups of lanes outside the
//! interval use other code; see [`super::codegen`].
//!
//! This helps accesses of neighbours, where a check would cost as much as the access: consecutive indices, rows, and
//! probably consecutive indices; and shared elements in loops. Accesses to arbitrary elements have such a latency that
//! a comparison costs nothing. Accesses under a mask have one to combine the check with, and the mask is often what
//! keeps the program in range.

use std::rc::Rc;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::analysis::{Analysis, Shape};
use super::bound::{Bound, Bounds};
use crate::ir::{BinaryOp, Kernel, Op, ParamId, RegionId, TOP, Type, Value};

/// The maximum number of proofs of a kernel: they are evaluated for each block of lanes.
const MAX_PROOFS: usize = 32;

/// A condition that must hold for an index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Proof {
    /// The buffer is longer than the largest value, and none is negative.
    Within(Rc<Bound>),
    /// The lane's number, plus and minus shared values of a type, is in range.
    Moved {
        /// The type of the index.
        ty: Type,
        /// The terms that are added or subtracted.
        terms: SmallVec<[(Value, bool); 2]>,
    },
}

/// Accesses that are in range if all proofs hold.
#[derive(Clone, Default)]
pub(super) struct Ranges {
    pub(super) proofs: Vec<(ParamId, Proof)>,
    /// By region: a fact about a value in the body of a loop need not hold in its condition.
    proven: FxHashSet<(RegionId, ParamId, Value)>,
}

impl Ranges {
    /// Finds the accesses of a kernel that can be proven to be in range.
    pub(super) fn of(kernel: &Kernel, analysis: &Analysis) -> Ranges {
        let bounds = Bounds::new(kernel, analysis);
        let mut search = Search { kernel, analysis, bounds, ranges: Ranges::default() };
        search.region(TOP, false);
        search.ranges
    }

    /// Assumes that all accesses are in range, for tests of the checks that find those that are not.
    #[cfg(test)]
    pub(super) fn all_without_proof(kernel: &Kernel) -> Ranges {
        let mut ranges = Ranges::default();
        for (id, region) in (0..).map(RegionId).zip(&kernel.regions) {
            ranges.proven.extend(region.insts.iter().filter_map(|inst| match inst.op {
                Op::Gather { buffer, index, .. }
                | Op::Scatter { buffer, index, .. }
                | Op::Atomic { buffer, index, .. }
                | Op::CompareExchange { buffer, index, .. } => Some((id, buffer, index)),
                _ => None,
            }));
        }
        ranges
    }

    /// Whether an index is in range of a buffer, in the code of a region itself, where all proofs hold.
    pub(super) fn is_proven(&self, region: RegionId, buffer: ParamId, index: Value) -> bool {
        self.proven.contains(&(region, buffer, index))
    }
}

struct Search<'k> {
    kernel: &'k Kernel,
    analysis: &'k Analysis,
    bounds: Bounds<'k>,
    ranges: Ranges,
}

impl Search<'_> {
    /// The regions that whole groups of lanes run.
    fn region(&mut self, region: RegionId, is_repeated: bool) {
        let kernel = self.kernel;
        for inst in &kernel.region(region).insts {
            match inst.op {
                Op::Gather { buffer, index, mask: None }
                    if self.is_worth_it(inst.first, index, is_repeated)
                        && !self.is_chosen(inst.first, buffer, index) =>
                {
                    self.prove(region, buffer, index)
                }
                Op::Scatter { buffer, index, mask: None, .. } if self.is_linear(index) => {
                    self.prove(region, buffer, index)
                }
                _ => {}
            }
            match inst.op {
                _ if !self.is_run_by_all(&inst.op) => {}
                // In its condition a counter has its final value once.
                Op::Loop { ref inits, condition, body } => {
                    self.bounds.enter_body(inits, condition, body);
                    self.region(body, true);
                    self.bounds.leave_body(condition);
                }
                ref op => op.regions().for_each(|region| self.region(region, is_repeated)),
            }
        }
    }

    fn is_run_by_all(&self, op: &Op) -> bool {
        let decides = match *op {
            Op::Loop { condition, .. } => self.kernel.region(condition).yields[0],
            Op::If { condition, .. } => condition,
            Op::Switch { index, .. } => index,
            _ => return false,
        };
        self.analysis.shape(decides).is_scalar()
    }

    fn is_linear(&self, index: Value) -> bool {
        matches!(self.analysis.shape(index), Shape::Linear { .. })
    }

    /// Whether a gather reads what lanes choose of elements near each other, for which it checks the base. Where
    /// neighbours exchange elements, some would be out of range by the bounds of the index, which would make the proofs
    /// of all lanes fail.
    fn is_chosen(&self, result: Value, buffer: ParamId, index: Value) -> bool {
        let near = self.analysis.near_index(self.kernel, buffer, index);
        self.analysis.rows.role(result).is_none() && near.is_some_and(|near| near.chooses)
    }

    fn is_worth_it(&self, result: Value, index: Value, is_repeated: bool) -> bool {
        self.is_linear(index)
            || is_repeated && self.analysis.shape(result).is_scalar()
            || self.analysis.rows.role(result).is_some()
            || self.analysis.index_hint(self.kernel, index).is_some()
    }

    fn prove(&mut self, region: RegionId, buffer: ParamId, index: Value) {
        if self.ranges.proofs.len() == MAX_PROOFS || self.ranges.is_proven(region, buffer, index) {
            return;
        }
        let proof = match self.moved(index) {
            Some(terms) => Proof::Moved { ty: self.kernel.ty(index), terms },
            None => Proof::Within(self.bounds.of(index)),
        };
        if matches!(&proof, Proof::Within(bound) if !bound.is_promising()) {
            return;
        }
        self.ranges.proven.insert((region, buffer, index));
        if !self.ranges.proofs.contains(&(buffer, proof.clone())) {
            self.ranges.proofs.push((buffer, proof));
        }
    }

    /// The difference between an index and the lane's number, if all lanes share it and it is known from the beginning.
    fn moved(&self, mut index: Value) -> Option<SmallVec<[(Value, bool); 2]>> {
        let mut terms = SmallVec::new();
        let ty = self.kernel.ty(index);
        if ty.bits() < 32 {
            return None;
        }
        loop {
            match *self.bounds.definition(index)? {
                Op::LaneIndex => return Some(terms),
                Op::Cast(_, a) if matches!(self.bounds.definition(a), Some(Op::LaneIndex)) => return Some(terms),
                Op::Cast(_, a) | Op::Bitcast(_, a) if self.kernel.ty(a).is_integer() => {
                    if self.kernel.ty(a).bits() != ty.bits() {
                        return None;
                    }
                    index = a;
                }
                Op::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
                    let swaps = op == BinaryOp::Add && self.is_linear(b);
                    let (rest, term) = if swaps { (b, a) } else { (a, b) };
                    if !self.bounds.is_known(term) {
                        return None;
                    }
                    terms.push((term, op == BinaryOp::Sub));
                    index = rest;
                }
                _ => return None,
            }
        }
    }
}
