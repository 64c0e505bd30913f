//! Kernels of bytes and 16-bit numbers: packets with more lanes.
//!
//! A packet has as many lanes as a register has of 32 bits each, which suits most programs: numbers of other sizes are
//! used beside indices and floats of 32 bits. A kernel that computes nothing of that size, such as one on pixels or on
//! the cells of an automaton, would use a quarter or half of each register. Its packets have two or four times as many
//! lanes.

use std::borrow::Cow;

use super::analysis::{Analysis, Shape};
use super::within_rows::WithinRows;
use crate::backend::target::Target;
use crate::ir::{Inst, Kernel, Op, REDUCE_ROW, TOP, Type, Value};

/// The bytes of the elements for which packets are made.
const USUAL_BYTES: usize = 4;

/// The target with the number of lanes in a packet that suits a kernel.
pub(super) fn target_for<'t>(kernel: &Kernel, target: &'t Target) -> Cow<'t, Target> {
    match lanes(kernel, target) {
        lanes if lanes == target.lanes => Cow::Borrowed(target),
        lanes => Cow::Owned(target.clone().with_lanes(lanes)),
    }
}

fn lanes(kernel: &Kernel, target: &Target) -> usize {
    let has_narrow_memory = kernel.params.iter().any(|param| bytes(param.ty()) < USUAL_BYTES);
    if !has_narrow_memory || !kernel.locals.is_empty() {
        return target.lanes;
    }
    // A group is at most as long as the row of running results of reductions.
    let most = REDUCE_ROW / target.interleave.unwrap_or(1);
    let general = Analysis::new(kernel, REDUCE_ROW);
    let rows = WithinRows::of(kernel, &general, REDUCE_ROW);
    let widest = widest(kernel, rows.as_ref().map_or(&general, |rows| &rows.analysis));
    (target.lanes * USUAL_BYTES / widest).min(most).max(target.lanes)
}

/// The bytes of the largest element that differs by lane.
fn widest(kernel: &Kernel, analysis: &Analysis) -> usize {
    let by_lane = |value: &Value| analysis.shape(*value) == Shape::Varying;
    let top = kernel.region(TOP).insts.iter().zip(&analysis.hoisted);
    let repeated = top.filter(|(_, hoisted)| !**hoisted).map(|(inst, _)| inst);
    let inner = kernel.regions.iter().enumerate().filter(|(number, _)| *number != TOP.index());
    let inner = inner.flat_map(|(_, region)| &region.insts);
    let params = kernel.regions.iter().flat_map(|region| &region.params).filter(|value| by_lane(value));
    let params = params.map(|&value| bytes(kernel.ty(value)));
    repeated.chain(inner).map(|inst| widest_of(kernel, inst, &by_lane)).chain(params).max().unwrap_or(USUAL_BYTES)
}

fn widest_of(kernel: &Kernel, inst: &Inst, by_lane: &impl Fn(&Value) -> bool) -> usize {
    let results = inst.values().filter(by_lane).map(|value| bytes(kernel.ty(value))).max().unwrap_or(1);
    let written = match inst.op {
        // What lanes combine is grouped by packets, whether it differs by lane or not.
        Op::Scatter { value, .. } | Op::Atomic { value, .. } | Op::CompareExchange { value, .. } => Some(value),
        Op::Store { value, .. } | Op::Reduce { value, .. } => Some(value),
        _ => None,
    };
    written.map_or(results, |value| results.max(bytes(kernel.ty(value))))
}

/// The bytes of an element in a register. Halves are computed with as `f32`.
fn bytes(ty: Type) -> usize {
    if ty.is_float() { ty.size_bytes().max(USUAL_BYTES) } else { ty.size_bytes() }
}
