//! Indices that are probably shared or consecutive in most packets, although that cannot be proven for all.
//!
//! Examples are rows and columns of an image whose width is not a multiple of the packet size, neighbours with
//! wrap-around, since `(lane + 1) % width` is consecutive except for one packet in each row, or mirrored rows. Gathers
//! at such an index check at run time, and take the cheap path if it applies. A wrong hint costs a comparison and a
//! branch. Gathers in loops also check for the end of one row and the beginning of the next: in short rows, as the
//! columns of a narrow matrix are, many packets have both.

use super::analysis::{Analysis, Shape};
use crate::ir::{BinaryOp, Inst, Kernel, Op, RegionId, UnaryOp, Value};

/// The length from which on rows are expected to be the same for most lanes of a packet, at least in two parts.
const SHORTEST_ROW: u64 = 8;

/// The probable relation between the lanes of most packets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Hint {
    /// The same value.
    Shared,
    /// Consecutive values.
    Consecutive,
    /// Consecutive values, the greatest in the first lane.
    Descending,
}

impl Hint {
    /// The relation of the negated values.
    fn reversed(self) -> Hint {
        match self {
            Hint::Shared => Hint::Shared,
            Hint::Consecutive => Hint::Descending,
            Hint::Descending => Hint::Consecutive,
        }
    }
}

/// A hint for each value of shape [`Shape::Varying`] whose lanes are probably related, and whether the relation is that
/// of lanes within rows that are not known to be short.
pub(super) fn hints(kernel: &Kernel, analysis: &Analysis) -> (Vec<Option<Hint>>, Vec<bool>) {
    let (hints, in_rows) = (vec![None; kernel.types.len()], vec![true; kernel.types.len()]);
    let mut finder = Finder { kernel, analysis, hints, in_rows };
    // A region usually comes after the one that it is nested in. If passes have changed that, a hint is missed.
    for inst in kernel.regions.iter().flat_map(|region| &region.insts) {
        match &inst.op {
            Op::Loop { inits, condition, body } => finder.add_counters(inits, *condition, *body),
            op if inst.results == 1 && kernel.ty(inst.first).is_integer() => {
                finder.in_rows[inst.first.index()] = finder.is_in_rows(op);
                finder.hints[inst.first.index()] = finder.hint(op);
            }
            _ => {}
        }
    }
    let is_in_rows = |(hint, in_rows): (&Option<Hint>, bool)| hint.is_some() && in_rows;
    let in_rows = finder.hints.iter().zip(finder.in_rows).map(is_in_rows).collect();
    (finder.hints, in_rows)
}

/// Adds hints for values that come from memory: lists of indices are often sorted without gaps in between, as the
/// columns of a matrix with a few diagonals are from row to row.
pub(super) fn add_loaded(kernel: &Kernel, analysis: &mut Analysis) {
    for inst in kernel.regions.iter().flat_map(|region| &region.insts) {
        let is_known =
            |value: Value| analysis.shape(value) != Shape::Varying || analysis.hints[value.index()].is_some();
        if inst.results == 1 && kernel.ty(inst.first).is_integer() && !is_known(inst.first) {
            analysis.hints[inst.first.index()] = match inst.op {
                Op::Load(_) | Op::Gather { .. } => Some(Hint::Consecutive),
                Op::Binary(BinaryOp::Add, a, b) if analysis.shape(b).is_scalar() => analysis.hints[a.index()],
                Op::Binary(BinaryOp::Add, a, b) if analysis.shape(a).is_scalar() => analysis.hints[b.index()],
                Op::Binary(BinaryOp::Sub, a, b) if analysis.shape(b).is_scalar() => analysis.hints[a.index()],
                _ => None,
            };
        }
    }
}

/// For each sum of a value with a hint and a value that the lanes of a packet share: both. The lanes of the sum are
/// related as those of the first value.
pub(super) fn moved(kernel: &Kernel, analysis: &Analysis) -> Vec<Option<(Value, Value)>> {
    let mut moved = vec![None; kernel.types.len()];
    let has_hint = |value: Value| analysis.index_hint(kernel, value).is_some();
    for inst in kernel.regions.iter().flat_map(|region| &region.insts) {
        let Op::Binary(BinaryOp::Add, a, b) = inst.op else { continue };
        moved[inst.first.index()] = match () {
            () if has_hint(a) && analysis.shape(b).is_scalar() => Some((a, b)),
            () if has_hint(b) && analysis.shape(a).is_scalar() => Some((b, a)),
            () => None,
        };
    }
    moved
}

struct Finder<'a> {
    kernel: &'a Kernel,
    analysis: &'a Analysis,
    hints: Vec<Option<Hint>>,
    in_rows: Vec<bool>,
}

impl Finder<'_> {
    /// The known or probable relation for a value.
    fn of(&self, value: Value) -> Option<Hint> {
        match self.analysis.shape(value) {
            Shape::Uniform | Shape::Packet => Some(Hint::Shared),
            Shape::Linear { .. } => Some(Hint::Consecutive),
            Shape::Varying => self.hints[value.index()],
        }
    }

    fn hint(&self, op: &Op) -> Option<Hint> {
        match *op {
            Op::Binary(op, a, b) => binary(op, self.of(a)?, self.of(b)?),
            Op::Fma(a, b, c) => match (self.of(a)?, self.of(b)?) {
                (Hint::Shared, Hint::Shared) => self.of(c),
                _ => None,
            },
            Op::Select(_, a, b) if self.of(a)? == self.of(b)? => self.of(a),
            Op::Unary(UnaryOp::Neg | UnaryOp::Not, a) => Some(self.of(a)?.reversed()),
            Op::Cast(_, a) | Op::Bitcast(_, a) if self.kernel.ty(a).is_integer() => self.of(a),
            // What one element says.
            Op::Gather { index, .. } if self.in_rows[index.index()] => {
                self.of(index).filter(|hint| *hint == Hint::Shared)
            }
            _ => None,
        }
    }

    /// Whether nothing that an operation computes with comes from rows that are known to be short.
    fn is_in_rows(&self, op: &Op) -> bool {
        let mut are_long = match *op {
            Op::Binary(op, a, b) if !self.analysis.shape(a).is_scalar() => {
                !splits_short_rows(op, self.analysis.constant(b))
            }
            _ => true,
        };
        op.for_each_operand(|operand| are_long &= self.in_rows[operand.index()]);
        are_long
    }

    /// Adds hints for the states of a loop that begin with what lanes share and advance by the same in all of them, as
    /// positions in the lists of a row do.
    fn add_counters(&mut self, inits: &[Value], condition: RegionId, body: RegionId) {
        let (analysis, body) = (self.analysis, self.kernel.region(body));
        for ((&init, &param), &next) in inits.iter().zip(&self.kernel.region(condition).params).zip(&body.yields) {
            let is_next = |inst: &Inst| match inst.op {
                Op::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) if a == param => analysis.shape(b).is_scalar(),
                Op::Binary(BinaryOp::Add, a, b) if b == param => analysis.shape(a).is_scalar(),
                _ => false,
            };
            let is_varying = analysis.shape(init) == Shape::Varying;
            let begins_shared =
                is_varying && self.in_rows[init.index()] && self.hints[init.index()] == Some(Hint::Shared);
            let advances = || next == param || body.insts.iter().any(|inst| inst.first == next && is_next(inst));
            if begins_shared && advances() {
                self.hints[param.index()] = Some(Hint::Shared);
            }
        }
    }
}

/// Whether an operation computes rows or columns of a matrix that is known to be narrow.
fn splits_short_rows(op: BinaryOp, operand: Option<u64>) -> bool {
    operand.is_some_and(|operand| match op {
        BinaryOp::Div | BinaryOp::Rem => operand < SHORTEST_ROW,
        BinaryOp::Shr => operand < u64::from(SHORTEST_ROW.trailing_zeros()),
        BinaryOp::And => operand < SHORTEST_ROW - 1,
        _ => false,
    })
}

fn binary(op: BinaryOp, a: Hint, b: Hint) -> Option<Hint> {
    use BinaryOp::{Add, And, Div, Max, Min, Or, Rem, Shr, Sub};
    match (op, a, b) {
        (_, Hint::Shared, Hint::Shared) => Some(Hint::Shared),
        (Sub, Hint::Shared, moving) => Some(moving.reversed()),
        (Div | Shr, Hint::Consecutive | Hint::Descending, Hint::Shared) => Some(Hint::Shared),
        (Add | And | Min | Max | Or, Hint::Shared, moving) => Some(moving),
        (Add | Sub | And | Rem | Min | Max | Or, moving, Hint::Shared) => Some(moving),
        _ => None,
    }
}
