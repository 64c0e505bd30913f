//! The transpose of a gather at positions that are known while recording: a gather, or a sum of blocks.
//!
//! Slices, shifts, and reversed or strided arrays are gathers at `±stride · lane + offset`: each element was read by
//! one lane at most, whose number follows from its own. Tiles and repetitions are gathers at `lane % n` and `lane / n`:
//! the lanes that have read an element are known, and as many for each. Nothing is scattered in either case, so the
//! gradient is part of the kernels around it.

use jit_runtime::ir::{BinaryOp, CompareOp, ReduceOp, Type};

use super::weight::{add, compare};
use crate::graph::Var;
use crate::graph::op::Op;
use crate::graph::payload::RegionId;
use crate::size::Size;
use crate::trace::{blocks, gather, record};

/// More tiles than that are added in memory.
const MOST_TILES: usize = 32;

/// Positions as a function of the lane.
enum Positions {
    /// `stride · lane + offset`, or `offset − stride · lane`.
    Steps { stride: u32, is_backward: bool, offset: Option<Var> },
    /// The whole source again and again, so many times.
    Tiles(usize),
    /// Each element so many times.
    Repeated(Size),
}

/// Returns the gradient of a source from that of what was gathered; none if the positions are not known.
#[track_caller]
pub(super) fn of_gather(source: &Var, index: &Var, mask: Option<&Var>, gradient: &Var) -> Option<Var> {
    let lanes = gradient_width(index, mask);
    if index.width() != lanes || lanes == 1 || source.width() == 1 || index.region() != RegionId::NONE {
        return None;
    }
    let gradient = record::broadcast(gradient, lanes);
    let zero = record::literal(gradient.ty(), 0, 1);
    let gradient = match mask {
        Some(mask) => record::select(mask, &gradient, &zero),
        None => gradient,
    };
    // Lanes that choose between positions, as in a rotation.
    if index.op() == Op::Select {
        let choice = index.operand(0)?;
        let sides = [(1, record::select(&choice, &gradient, &zero)), (2, record::select(&choice, &zero, &gradient))];
        let [a, b] = sides.map(|(slot, gradient)| {
            let positions = Positions::of(&index.operand(slot)?, source)?;
            positions.transposed(source, lanes, &gradient)
        });
        return Some(add(&a?, &b?));
    }
    Positions::of(index, source)?.transposed(source, lanes, &gradient)
}

impl Positions {
    /// Returns the sum of the gradients of the lanes that have read each element of a source.
    #[track_caller]
    fn transposed(self, source: &Var, lanes: Size, gradient: &Var) -> Option<Var> {
        Some(match self {
            Positions::Steps { stride, is_backward, offset } => {
                let place = record::lane_index(source.width());
                let offset = offset.unwrap_or_else(|| record::literal(Type::U32, 0, 1));
                if is_backward && stride == 1 && source.width() == lanes && offset.is_same(&record::size(lanes - 1)) {
                    return Some(gather::gather(gradient, &record::binary(BinaryOp::Sub, &offset, &place), None));
                }
                let ends = if is_backward { (&offset, &place) } else { (&place, &offset) };
                // Before the first position this wraps to a number beyond the last lane.
                let distance = record::binary(BinaryOp::Sub, ends.0, ends.1);
                let step = record::literal(Type::U32, u64::from(stride), 1);
                let lane = record::binary(BinaryOp::Div, &distance, &step);
                let mut is_read = compare(CompareOp::Lt, &lane, &record::size(lanes));
                if stride != 1 {
                    let again = record::binary(BinaryOp::Mul, &lane, &step);
                    is_read = record::and(&is_read, &compare(CompareOp::Eq, &again, &distance));
                }
                gather::gather(gradient, &lane, Some(&is_read))
            }
            Positions::Tiles(times) => {
                let element = record::lane_index(source.width());
                let parts = (0..times).map(|tile| {
                    let start = record::size(source.width() * tile);
                    gather::gather(gradient, &record::binary(BinaryOp::Add, &element, &start), None)
                });
                parts.reduce(|sum, part| add(&sum, &part))?
            }
            Positions::Repeated(times) => blocks::block_reduce(ReduceOp::Add, gradient, times),
        })
    }
}

fn gradient_width(index: &Var, mask: Option<&Var>) -> Size {
    record::common_width([Some(index), mask, None]).into()
}

impl Positions {
    fn of(index: &Var, source: &Var) -> Option<Positions> {
        if index.ty() != Type::U32 {
            return None;
        }
        let (lanes, width) = (index.width(), source.width());
        if let Op::Binary(op @ (BinaryOp::Rem | BinaryOp::Div)) = index.op() {
            let (lane, count) = (index.operand(0)?, index.operand(1)?);
            let is_whole = |times: Size, of: Size| times * of == lanes;
            return match lane.op() == Op::LaneIndex && lane.width() == lanes {
                true if op == BinaryOp::Rem && count.is_same(&record::size(width)) => {
                    let few = (lanes % width == 0).then(|| lanes / width).filter(|&times| times <= MOST_TILES);
                    few.map(|times| Positions::Tiles(times.get()))
                }
                true if op == BinaryOp::Div && lanes % width == 0 => {
                    let times = lanes / width;
                    (count.is_same(&record::size(times)) && is_whole(times, width))
                        .then_some(Positions::Repeated(times))
                }
                _ => None,
            };
        }
        let steps = Positions::steps(index, lanes)?;
        match steps {
            // Another lane would have read the element, too, if positions exceeded 32 bits.
            Positions::Steps { stride, .. } if stride > 1 => {
                (lanes < Size::from(u32::MAX as usize / stride as usize)).then_some(steps)
            }
            _ => Some(steps),
        }
    }

    fn steps(index: &Var, lanes: Size) -> Option<Positions> {
        if index.op() == Op::LaneIndex && index.width() == lanes {
            return Some(Positions::Steps { stride: 1, is_backward: false, offset: None });
        }
        let Op::Binary(op) = index.op() else { return None };
        let (a, b) = (index.operand(0)?, index.operand(1)?);
        let is_uniform = |var: &Var| var.width() == 1;
        match op {
            BinaryOp::Add if is_uniform(&b) => Positions::steps(&a, lanes)?.moved(BinaryOp::Add, &b),
            BinaryOp::Add if is_uniform(&a) => Positions::steps(&b, lanes)?.moved(BinaryOp::Add, &a),
            BinaryOp::Sub if is_uniform(&b) => Positions::steps(&a, lanes)?.moved(BinaryOp::Sub, &b),
            BinaryOp::Sub if is_uniform(&a) => Positions::steps(&b, lanes)?.subtracted_from(&a),
            BinaryOp::Mul if is_uniform(&b) => Positions::steps(&a, lanes)?.times(&b),
            BinaryOp::Mul if is_uniform(&a) => Positions::steps(&b, lanes)?.times(&a),
            _ => None,
        }
    }

    fn moved(self, op: BinaryOp, by: &Var) -> Option<Positions> {
        let Positions::Steps { stride, is_backward, offset } = self else { return None };
        let before = offset.unwrap_or_else(|| record::literal(Type::U32, 0, 1));
        Some(Positions::Steps { stride, is_backward, offset: Some(record::binary(op, &before, by)) })
    }

    fn subtracted_from(self, end: &Var) -> Option<Positions> {
        let Positions::Steps { stride, is_backward, offset } = self else { return None };
        let offset = offset.map_or_else(|| end.clone(), |offset| record::binary(BinaryOp::Sub, end, &offset));
        Some(Positions::Steps { stride, is_backward: !is_backward, offset: Some(offset) })
    }

    fn times(self, factor: &Var) -> Option<Positions> {
        let Positions::Steps { stride, is_backward, offset } = self else { return None };
        let stride = stride.checked_mul(u32::try_from(factor.literal()?).ok()?).filter(|&stride| stride > 0)?;
        let offset = offset.map(|offset| record::binary(BinaryOp::Mul, &offset, factor));
        Some(Positions::Steps { stride, is_backward, offset })
    }
}
