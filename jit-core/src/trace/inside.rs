//! Which lanes have an index that is in range.
//!
//! Kernels see to it that an access to memory out of range reads zero and writes nothing. Here is what makes the same of elements
//! that are not in memory: where an array is an expression, or lies in memory behind another one.

use jit_runtime::ir::{BinaryOp, CompareOp, Type, scalar};

use super::record;
use crate::graph::node::Var;
use crate::graph::op::Op;
use crate::size::Size;

/// Operations that are looked at to find out how large an index can be.
const MAX_DEPTH: u32 = 8;

/// The lanes of a mask whose index is in range of an array of a width; none if that is all lanes.
#[track_caller]
pub(super) fn lanes_inside(index: &Var, width: Size, mask: Option<&Var>) -> Option<Var> {
    if is_always_inside(index, width) {
        return mask.cloned();
    }
    let inside = is_below(index, &record::size(width));
    Some(mask.map_or_else(|| inside.clone(), |mask| record::and(mask, &inside)))
}

/// Whether an index is at least zero and below a number, which is a `u32`.
#[track_caller]
pub(super) fn is_below(index: &Var, end: &Var) -> Var {
    // What is negative becomes large.
    let ty = if index.ty().size_bytes() == 8 { Type::U64 } else { Type::U32 };
    record::compare(CompareOp::Lt, &record::cast(ty, index), &record::cast(ty, end))
}

/// Whether an index is known to be in range.
pub(super) fn is_always_inside(index: &Var, width: Size) -> bool {
    (is_lane_index(index) && index.width().is_always(width))
        || width.is_constant() && most(index).is_some_and(|most| most < width.value() as u64)
}

/// Whether an index is known to be out of range in every lane: a literal one that is negative, or no smaller than the width.
pub(crate) fn is_never_inside(index: &Var, width: Size) -> bool {
    let Some(bits) = index.literal() else { return false };
    let position = scalar::cast(index.ty(), Type::I64, bits) as i64;
    let is_negative = index.ty().is_signed_integer() && position < 0;
    // What is beyond the largest of `i64` is beyond every width. A width that a replay computes is compared by its kernels.
    is_negative || usize::try_from(position).map_or(true, |position| width.is_constant() && position >= width.value())
}

/// Whether an index is the number of the lane, of a type that holds that of every lane.
pub(super) fn is_lane_index(index: &Var) -> bool {
    match index.op() {
        Op::LaneIndex => true,
        Op::Cast if index.ty().size_bytes() >= 4 => {
            index.operand(0).is_some_and(|operand| operand.op() == Op::LaneIndex)
        }
        _ => false,
    }
}

/// A number that an index does not exceed, in any replay; none if it may be negative, or nothing is known.
pub(crate) fn most(index: &Var) -> Option<u64> {
    most_within(index, MAX_DEPTH)
}

fn most_within(index: &Var, depth: u32) -> Option<u64> {
    let ty = index.ty();
    let largest = if ty.is_signed_integer() { ty.bit_mask() >> 1 } else { ty.bit_mask() };
    if let Some(bits) = index.literal() {
        return (bits <= largest).then_some(bits);
    }
    let depth = depth.checked_sub(1)?;
    let of = |slot: usize| most_within(&index.operand(slot)?, depth);
    let constant = |slot: usize| index.operand(slot)?.literal().filter(|&bits| bits <= largest);
    let found = match index.op() {
        Op::LaneIndex if index.width().is_constant() => (index.lanes() as u64).checked_sub(1),
        Op::Broadcast => of(0),
        Op::Cast if index.operand(0)?.ty().is_integer() => of(0),
        Op::Select => Some(of(1)?.max(of(2)?)),
        Op::Binary(op) => match op {
            BinaryOp::And => [of(0), of(1)].into_iter().flatten().min(),
            BinaryOp::Add => of(0)?.checked_add(of(1)?),
            BinaryOp::Mul => of(0)?.checked_mul(of(1)?),
            BinaryOp::Min if ty.is_unsigned_integer() => [of(0), of(1)].into_iter().flatten().min(),
            BinaryOp::Min => Some(of(0)?.min(of(1)?)),
            BinaryOp::Div => of(0)?.checked_div(constant(1)?),
            BinaryOp::Shr => of(0)?.checked_shr(u32::try_from(constant(1)?).ok()?),
            BinaryOp::Rem if ty.is_unsigned_integer() => constant(1)?.checked_sub(1),
            _ => None,
        },
        _ => None,
    };
    found.filter(|&most| most <= largest).or_else(|| (ty.bits() < 32 && ty.is_unsigned_integer()).then_some(largest))
}
