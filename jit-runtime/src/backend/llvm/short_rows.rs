//! Kernels with loops over short rows: packets with fewer lanes.
//!
//! In a product of a sparse matrix and one of eight columns, eight lanes each walk through the entries of one row. A
//! packet of as many lanes has one row: positions in the lists are scalars, elements are read once, neighbours as
//! vectors, and all lanes leave the loop at once. A packet of sixteen lanes has two rows, and needs gathers.

use super::analysis::{Analysis, Shape};
use crate::backend::target::Target;
use crate::ir::{Inst, Kernel, Op, ReduceOp, TOP};

/// The numbers of lanes that are tried.
const FEWER_LANES: [usize; 2] = [8, 4];

/// The cost of a gather for each lane, where an operation on vectors costs one.
const GATHER_COST: f64 = 1.75;

/// The cost of a gather that compares its indices with what is expected.
const CHECKED_COST: f64 = 16.0;

/// The cost of a gather of elements that are near each other.
const NEAR_COST: f64 = 4.0;

/// The part of the cost that fewer lanes may have: what they cost outside of the loops is not counted.
const WORTHWHILE: f64 = 0.9;

/// A number of lanes with which loops cost less than with that of the target, if there is one.
pub(super) fn lanes(kernel: &Kernel, target: &Target) -> Option<usize> {
    if !kernel.regions.iter().any(|region| region.insts.iter().any(|inst| matches!(inst.op, Op::Loop { .. })))
        || kernel.regions.iter().flat_map(|region| &region.insts).any(|inst| shows_lanes(kernel, inst))
    {
        return None;
    }
    let most = cost(kernel, target.lanes) * WORTHWHILE;
    let fewer = FEWER_LANES.into_iter().filter(|&lanes| lanes < target.lanes);
    let costs = fewer.map(|lanes| (lanes, cost(kernel, lanes))).filter(|&(_, cost)| cost < most);
    costs.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(lanes, _)| lanes)
}

/// Whether the grouping of lanes changes what an instruction computes: lanes that share an element are added in pairs.
fn shows_lanes(kernel: &Kernel, inst: &Inst) -> bool {
    match inst.op {
        Op::Scatter { reduce: Some(ReduceOp::Add | ReduceOp::Mul), value, .. } => kernel.ty(value).is_float(),
        _ => false,
    }
}

/// The cost of the regions within the top one for a lane, each executed once.
fn cost(kernel: &Kernel, lanes: usize) -> f64 {
    let analysis = Analysis::new(kernel, lanes);
    let of = |inst: &Inst| match inst.op {
        Op::Gather { buffer, index, .. } if analysis.near_index(kernel, buffer, index).is_some() => NEAR_COST,
        Op::Gather { index, .. } if analysis.shape(index) == Shape::Varying => {
            let checked = analysis.is_checked_at_run_time(kernel, index);
            if checked { CHECKED_COST } else { GATHER_COST * lanes as f64 }
        }
        _ => 1.0,
    };
    let inner = kernel.regions.iter().enumerate().filter(|(number, _)| *number != TOP.index());
    inner.flat_map(|(_, region)| &region.insts).map(of).sum::<f64>() / lanes as f64
}
