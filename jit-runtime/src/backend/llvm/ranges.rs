//! Which indices cannot leave their buffers, and on which lanes.
//!
//! Two kinds of index need no look at each access. The number of the lane moved by what all lanes share is in range on an interval
//! of lanes. A value that its last operations limit, `x & 255`, `x % 100`, `x.min(99)`, is in range on all lanes if the buffer is long
//! enough. Both are known before the first lane runs, so groups of lanes outside of the interval get other code; see
//! [`super::codegen`].
//!
//! This serves accesses of neighbours, where a look would cost as much as the access: consecutive indices, rows, and what is probably
//! consecutive. Elements that lie anywhere are waited for so long that a comparison costs nothing. Accesses under a mask have one to be
//! combined with, and often are what keeps the program in range.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::analysis::{Analysis, Shape};
use crate::ir::{BinaryOp, Kernel, Op, ParamId, RegionId, TOP, Type, Value};

/// What must hold for an index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Proof {
    /// The buffer is longer than the largest value.
    AtMost(u64),
    /// The lane, plus and minus values of a type that all lanes share, is in range.
    Moved {
        /// The type of the index.
        ty: Type,
        /// What is added, or subtracted.
        terms: SmallVec<[(Value, bool); 2]>,
    },
}

/// Accesses that are in range where all proofs hold.
#[derive(Default)]
pub(super) struct Ranges {
    pub(super) proofs: Vec<(ParamId, Proof)>,
    proven: FxHashSet<(ParamId, Value)>,
}

impl Ranges {
    /// Finds the accesses of a kernel that can be proven to be in range.
    pub(super) fn of(kernel: &Kernel, analysis: &Analysis) -> Ranges {
        let mut search = Search {
            kernel,
            analysis,
            definitions: definitions(kernel),
            most: most(kernel, analysis),
            ranges: Ranges::default(),
        };
        search.region(TOP);
        search.ranges
    }

    /// Whether an index is in range of a buffer where all proofs hold.
    pub(super) fn is_proven(&self, buffer: ParamId, index: Value) -> bool {
        self.proven.contains(&(buffer, index))
    }
}

/// The operation of each value that has one of its own.
fn definitions(kernel: &Kernel) -> Vec<Option<&Op>> {
    let mut definitions = vec![None; kernel.types.len()];
    for inst in kernel.regions.iter().flat_map(|region| &region.insts).filter(|inst| inst.results == 1) {
        definitions[inst.first.index()] = Some(&inst.op);
    }
    definitions
}

struct Search<'k> {
    kernel: &'k Kernel,
    analysis: &'k Analysis,
    definitions: Vec<Option<&'k Op>>,
    most: Vec<Option<u64>>,
    ranges: Ranges,
}

impl Search<'_> {
    /// The regions that whole groups of lanes run.
    fn region(&mut self, region: RegionId) {
        let kernel = self.kernel;
        for inst in &kernel.region(region).insts {
            match inst.op {
                Op::Gather { buffer, index, mask: None } if self.is_worth_it(inst.first, index) => {
                    self.prove(buffer, index)
                }
                Op::Scatter { buffer, index, mask: None, .. } if self.is_linear(index) => self.prove(buffer, index),
                _ => {}
            }
            if self.is_run_by_all(&inst.op) {
                inst.op.regions().for_each(|region| self.region(region));
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

    fn is_worth_it(&self, result: Value, index: Value) -> bool {
        self.is_linear(index)
            || self.analysis.rows.role(result).is_some()
            || self.analysis.index_hint(self.kernel, index).is_some()
    }

    fn prove(&mut self, buffer: ParamId, index: Value) {
        let proof = match (self.moved(index), self.most[index.index()]) {
            (Some(terms), _) => Proof::Moved { ty: self.kernel.ty(index), terms },
            // What only the type limits says nothing.
            (None, Some(most)) if most <= i32::MAX as u64 => Proof::AtMost(most),
            _ => return,
        };
        self.ranges.proven.insert((buffer, index));
        if !self.ranges.proofs.contains(&(buffer, proof.clone())) {
            self.ranges.proofs.push((buffer, proof));
        }
    }

    /// By what an index differs from the number of the lane, if all lanes share it and know it from the beginning.
    fn moved(&self, mut index: Value) -> Option<SmallVec<[(Value, bool); 2]>> {
        let mut terms = SmallVec::new();
        let ty = self.kernel.ty(index);
        if ty.bits() < 32 {
            return None;
        }
        loop {
            match *self.definitions[index.index()]? {
                Op::LaneIndex => return Some(terms),
                Op::Cast(_, a) if matches!(self.definitions[a.index()], Some(Op::LaneIndex)) => return Some(terms),
                Op::Cast(_, a) | Op::Bitcast(_, a) if self.kernel.ty(a).is_integer() => {
                    if self.kernel.ty(a).bits() != ty.bits() {
                        return None;
                    }
                    index = a;
                }
                Op::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
                    let swaps = op == BinaryOp::Add && self.is_linear(b);
                    let (rest, term) = if swaps { (b, a) } else { (a, b) };
                    if !self.is_known(term) {
                        return None;
                    }
                    terms.push((term, op == BinaryOp::Sub));
                    index = rest;
                }
                _ => return None,
            }
        }
    }

    /// Whether a value is computed before the first lane runs.
    fn is_known(&self, value: Value) -> bool {
        let hoisted = self.kernel.region(TOP).insts.iter().zip(&self.analysis.hoisted).filter(|(_, hoisted)| **hoisted);
        hoisted.into_iter().any(|(inst, _)| inst.values().any(|own| own == value))
    }
}

/// The largest that each integer can be; none if it may be negative.
fn most(kernel: &Kernel, analysis: &Analysis) -> Vec<Option<u64>> {
    let mut most = vec![None; kernel.types.len()];
    // A region comes after the one that it is nested in; where passes have made that untrue less is known.
    for inst in kernel.regions.iter().flat_map(|region| &region.insts).filter(|inst| inst.results == 1) {
        let ty = kernel.ty(inst.first);
        if ty.is_integer() {
            most[inst.first.index()] = most_of(kernel, analysis, &most, &inst.op, ty);
        }
    }
    most
}

/// The largest number of a type.
fn largest(ty: Type) -> u64 {
    if ty.is_signed_integer() { ty.bit_mask() >> 1 } else { ty.bit_mask() }
}

fn most_of(kernel: &Kernel, analysis: &Analysis, most: &[Option<u64>], op: &Op, ty: Type) -> Option<u64> {
    let of = |value: Value| match (most[value.index()], kernel.ty(value)) {
        (Some(most), _) => Some(most),
        (None, Type::Bool) => Some(1),
        (None, ty) if ty.is_unsigned_integer() => Some(largest(ty)),
        _ => None,
    };
    let constant = |value: Value| most[value.index()].filter(|_| analysis.constant(value).is_some());
    let fits = |most: u64| (most <= largest(ty)).then_some(most);
    let found = match *op {
        Op::Const(_, bits) => fits(bits),
        Op::Cast(_, a) | Op::Bitcast(_, a) if !kernel.ty(a).is_float() => of(a).and_then(fits),
        Op::Select(_, a, b) => Some(of(a)?.max(of(b)?)),
        Op::Binary(op, a, b) => match op {
            BinaryOp::And => [of(a), of(b)].into_iter().flatten().min(),
            BinaryOp::Or | BinaryOp::Xor => Some(all_bits(of(a)?.max(of(b)?))),
            BinaryOp::Add => of(a)?.checked_add(of(b)?).and_then(fits),
            BinaryOp::Mul => of(a)?.checked_mul(of(b)?).and_then(fits),
            BinaryOp::Min => Some(of(a)?.min(of(b)?)),
            // One operand that is not negative is enough.
            BinaryOp::Max => match (of(a), of(b)) {
                (None, None) => None,
                (a, b) => Some(a.unwrap_or(largest(ty)).max(b.unwrap_or(largest(ty)))),
            },
            BinaryOp::Rem => Some(of(a)?.min(constant(b)?.checked_sub(1)?)),
            BinaryOp::Div => of(a)?.checked_div(constant(b)?),
            BinaryOp::Shr => Some(of(a)?.checked_shr(u32::try_from(constant(b)?).ok()?).unwrap_or(0)),
            BinaryOp::Shl => {
                let shift = constant(b).filter(|&shift| shift < 64)?;
                of(a)?.checked_mul(1 << shift).and_then(fits)
            }
            _ => None,
        },
        _ => None,
    };
    found.or_else(|| ty.is_unsigned_integer().then(|| largest(ty)))
}

/// All bits up to the highest one.
fn all_bits(most: u64) -> u64 {
    u64::MAX.checked_shr(most.leading_zeros()).unwrap_or(0)
}
