//! Combines the parts of reductions in pairs of neighbours, as [`crate::ir::scalar::reduce_in_pairs`] does: those that
//! the blocks of a kernel with reductions wrote.

use super::super::Target;
use super::Routine;
use super::builder::Builder;
use super::element::combined_type;
use super::plan::{Argument, Plan};
use crate::ir::{ReduceOp, Type};

pub(super) const THREADS: u32 = 256;

impl Plan {
    /// The plan that combines parts: each `parts_per_result` consecutive ones to one result, the last of which may have
    /// fewer. No input, two outputs of the type: the parts, whose contents are arbitrary afterwards, and the results.
    #[must_use]
    pub fn combine(op: ReduceOp, ty: Type, parts: usize, parts_per_result: usize) -> Plan {
        let mut plan = Plan::default();
        let sizes = [parts, parts_per_result].map(|size| Argument::Word(size as u32));
        let arguments = [Argument::Output(0), Argument::Output(1)].into_iter().chain(sizes).collect();
        plan.launch(Routine::Combine { op, ty }, parts.div_ceil(parts_per_result.max(1)), arguments);
        plan
    }
}

/// A block combines the parts of one result. In each round it combines neighbours that are twice as far apart.
pub(super) fn body(op: ReduceOp, ty: Type, target: Target) -> Builder {
    let mut b = Builder::new(target);
    let (parts, results) = (b.pointer("parts"), b.pointer("results"));
    let (all, per_result) = (b.size("all_parts"), b.size("parts_per_result"));
    let (thread, result, size) = (b.thread(), b.block(), ty.size_bytes() as u32);
    let first = b.mul(result, per_result);
    let left = b.sub(all, first);
    let count = b.min(left, per_result);
    let own = b.at(parts, first, size);
    let distance = b.variable(1);
    b.repeat(
        |b| b.is_less(distance, count),
        |b| {
            let twice = b.shl(distance, 1);
            let place = b.mul(thread, twice);
            // Those that have a neighbour.
            let end = b.sub(count, distance);
            let step = b.mul(twice, THREADS);
            b.count(place, end, step, |b, place| {
                let other = b.add(place, distance);
                let [target, other] = [place, other].map(|place| b.at(own, place, size));
                let [value, other] = [target, other].map(|address| b.load_whole("global", ty, address, 0));
                let both = b.join(op, combined_type(ty), value, other);
                b.store_element("global", ty, target, both);
            });
            b.barrier();
            b.set(distance, twice);
        },
    );
    let is_first = b.is_equal(thread, 0);
    b.when(is_first, |b| {
        let value = b.load_whole("global", ty, own, 0);
        let address = b.at(results, result, size);
        b.store_element("global", ty, address, value);
    });
    b
}
