//! Indices that are probably shared or consecutive in most packets, although that cannot be proven for all.
//!
//! Examples are rows and columns of an image whose width is not a multiple of the packet size, neighbours with
//! wrap-around, since `(lane + 1) % width` is consecutive except for one packet in each row, or mirrored rows. Gathers
//! at such an index check at run time, and take the cheap path if it applies. A wrong hint costs a comparison and a
//! branch.

use super::analysis::{Analysis, Shape};
use crate::ir::{BinaryOp, Kernel, Op, UnaryOp, Value};

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

/// A hint for each value of shape [`Shape::Varying`] whose lanes are probably related.
pub(super) fn hints(kernel: &Kernel, analysis: &Analysis) -> Vec<Option<Hint>> {
    let mut hints = vec![None; kernel.types.len()];
    // A region usually comes after the one that it is nested in. If passes have changed that, a hint is missed.
    for inst in kernel.regions.iter().flat_map(|region| &region.insts) {
        if inst.results == 1 && kernel.ty(inst.first).is_integer() {
            hints[inst.first.index()] = hint(kernel, analysis, &hints, &inst.op);
        }
    }
    hints
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

fn hint(kernel: &Kernel, analysis: &Analysis, hints: &[Option<Hint>], op: &Op) -> Option<Hint> {
    // The known or probable relation for a value.
    let of = |value: Value| match analysis.shape(value) {
        Shape::Uniform | Shape::Packet => Some(Hint::Shared),
        Shape::Linear { .. } => Some(Hint::Consecutive),
        Shape::Varying => hints[value.index()],
    };
    match *op {
        Op::Binary(op, a, b) => binary(op, of(a)?, of(b)?),
        Op::Fma(a, b, c) => match (of(a)?, of(b)?) {
            (Hint::Shared, Hint::Shared) => of(c),
            _ => None,
        },
        Op::Select(_, a, b) if of(a)? == of(b)? => of(a),
        Op::Unary(UnaryOp::Neg | UnaryOp::Not, a) => Some(of(a)?.reversed()),
        Op::Cast(_, a) if kernel.ty(a).is_integer() => of(a),
        Op::Bitcast(_, a) if kernel.ty(a).is_integer() => of(a),
        _ => None,
    }
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
