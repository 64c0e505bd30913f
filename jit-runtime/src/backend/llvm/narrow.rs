//! Kernels of bytes and 16-bit numbers: packets with more lanes.
//!
//! A packet has as many lanes as a register has of 32 bits each, which suits most programs: numbers of other sizes are
//! used beside indices and floats of 32 bits. A kernel that computes nothing of that size, such as one on pixels or on
//! the cells of an automaton, would use a quarter or half of each register. Its packets have two or four times as many
//! lanes.

use std::borrow::Cow;

use super::analysis::{Analysis, Shape};
use super::short_rows;
use super::tables::Tables;
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
    if !kernel.locals.is_empty() {
        return target.lanes;
    }
    if let Some(lanes) = short_rows::lanes(kernel, target) {
        return lanes;
    }
    if !has_narrow_memory {
        return target.lanes;
    }
    // A group is at most as long as the row of running results of reductions.
    let most = REDUCE_ROW / target.interleave.unwrap_or(1);
    let general = Analysis::new(kernel, REDUCE_ROW);
    let rows = WithinRows::of(kernel, &general, REDUCE_ROW);
    let analysis = rows.as_ref().map_or(&general, |rows| &rows.analysis);
    let widest = widest(kernel, analysis, &Tables::of(kernel, analysis, target));
    (target.lanes * USUAL_BYTES / widest).min(most).max(target.lanes)
}

/// The bytes of the largest element that differs by lane.
fn widest(kernel: &Kernel, analysis: &Analysis, tables: &Tables) -> usize {
    let by_lane = |value: &Value| analysis.shape(*value) == Shape::Varying && !tables.is_unneeded(*value);
    let top = kernel.region(TOP).insts.iter().zip(&analysis.hoisted);
    let repeated = top.filter(|(_, hoisted)| !**hoisted).map(|(inst, _)| inst);
    let inner = kernel.regions.iter().enumerate().filter(|(number, _)| *number != TOP.index());
    let inner = inner.flat_map(|(_, region)| &region.insts);
    let params = kernel.regions.iter().flat_map(|region| &region.params).filter(|value| by_lane(value));
    let params = params.map(|&value| bytes(kernel.ty(value)));
    repeated
        .chain(inner)
        .map(|inst| widest_of(kernel, inst, tables, &by_lane))
        .chain(params)
        .max()
        .unwrap_or(USUAL_BYTES)
}

fn widest_of(kernel: &Kernel, inst: &Inst, tables: &Tables, by_lane: &impl Fn(&Value) -> bool) -> usize {
    let results = inst.values().filter(by_lane).map(|value| bytes(kernel.ty(value))).max().unwrap_or(1);
    let (index, written) = match inst.op {
        Op::Gather { index, .. } if tables.selector(inst.first).is_none() => (Some(index), None),
        Op::Scatter { index, value, .. }
        | Op::Atomic { index, value, .. }
        | Op::CompareExchange { index, value, .. } => (Some(index), Some(value)),
        Op::Store { value, .. } | Op::Reduce { value, .. } => (None, Some(value)),
        _ => (None, None),
    };
    // What lanes combine is grouped by packets, whether it differs by lane or not.
    let written = written.map_or(1, |value| bytes(kernel.ty(value)));
    // Addresses that differ by lane are computed in words, whatever the type of the index.
    let addressed = if index.is_some_and(|index| by_lane(&index)) { USUAL_BYTES } else { 1 };
    results.max(written).max(addressed)
}

/// The bytes of an element in a register. Halves are computed with as `f32`.
fn bytes(ty: Type) -> usize {
    if ty.is_float() { ty.size_bytes().max(USUAL_BYTES) } else { ty.size_bytes() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::target::Architecture;
    use crate::ir::parse;

    /// The number of lanes in a packet on a processor with registers of 256 bits.
    fn lanes_of(text: &str) -> usize {
        let target = Target::new(Architecture::X86_64, "x86-64-v3".into(), "+sse4.2,+avx2".into());
        lanes(&parse(text).unwrap(), &target)
    }

    #[test]
    fn a_packet_fills_a_register_with_the_largest_element_that_differs_by_lane() {
        let of = |ty: &str| {
            lanes_of(&format!("kernel(p0: read {ty}, p1: write {ty}) {{ v0: {ty} = load p0 store p1, v0 }}"))
        };
        let types = ["u8", "i8", "bool", "i16", "u16", "u32", "f32", "i64", "f64", "f16", "bf16"];
        assert_eq!(types.map(of), [32, 32, 32, 16, 16, 8, 8, 8, 8, 8, 8]);
    }

    #[test]
    fn indices_that_are_consecutive_are_not_counted_and_others_are() {
        let gather = |index: &str| {
            let head = "kernel(p0: read u8, p1: write u8) { v0: u32 = lane_index v1: u32 = const 5 v2: u32 =";
            lanes_of(&format!("{head} {index} v0, v1 v3: u8 = gather p0[v2] store p1, v3 }}"))
        };
        assert_eq!([gather("add"), gather("mul")], [32, 8]);
        let by_table =
            "kernel(p0: read u8, p1: read u8, p2: write u8) { v0: u8 = load p0 v1: u8 = gather p1[v0] store p2, v1 }";
        assert_eq!(lanes_of(by_table), 8);
        // In groups within a row the column is consecutive.
        let columns = "kernel(p0: read u8, p1: write u8, p2: scalar u32) { v0: u32 = lane_index v1: u32 = scalar p2 \
            v2: u32 = rem v0, v1 v3: u8 = gather p0[v2] store p1, v3 }";
        assert_eq!(lanes_of(columns), 32);
    }

    #[test]
    fn what_lanes_combine_is_counted_even_if_they_share_it() {
        let scatter = |ty: &str| {
            lanes_of(&format!(
                "kernel(p0: read u8, p1: readwrite {ty}, p2: write u8) {{ v0: u8 = load p0 v1: {ty} = const 1 \
                 v2: u32 = lane_index scatter.add p1[v2] = v1 store p2, v0 }}"
            ))
        };
        assert_eq!([scatter("u8"), scatter("f32")], [32, 8]);
    }

    #[test]
    fn a_group_is_not_longer_than_a_row_of_running_results() {
        let target = Target::new(Architecture::X86_64, "x86-64-v3".into(), "+sse4.2,+avx2".into());
        let kernel = parse("kernel(p0: read u8, p1: reduce u8) { v0: u8 = load p0 reduce.max p1, v0 }").unwrap();
        let of = |packets: usize| lanes(&kernel, &target.clone().with_interleave(packets));
        assert_eq!([of(1), of(2), of(4), of(8)], [32, 32, 16, 8]);
        let packed = target_for(&kernel, &target);
        assert_eq!((packed.lanes, super::super::interleave::choose(&kernel, &packed, Default::default())), (32, 2));
    }
}
