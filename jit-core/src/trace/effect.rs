//! Recording a scatter: writing to elements at computed positions.
//!
//! A scatter is a value like any other: the array after it is a new node, made from the array before it, so what comes
//! after what is written in the graph, and a scatter whose result nobody reads is never run. That it usually happens in
//! place is decided by the scheduler. Two things are different from other nodes. A scatter has several results, the array
//! and, of some operations, what was there before; and once it has run in place it cannot be run again, so all results
//! that are still held are computed at once. The node therefore knows its results, weakly.
//!
//! Inside of a traced region lanes write at different times, so the array cannot be read there until the region is
//! closed: its node bears [`RegionId::WRITING`].

use std::panic::Location;

use jit_runtime::ir::{ReduceOp, Type, scalar};
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::loops::{control_node, result};
use super::misuse::Misuse;
use super::node::{Extra, Var, Weak};
use super::op::Op;
use super::region::{self, RegionId};
use super::{number, record};

/// The position of the array among the results of a scatter.
pub(crate) const ARRAY: usize = 0;

/// The results of a node that has several, to find those that are held.
#[derive(Default)]
pub(crate) struct Results(Mutex<SmallVec<[Weak; 2]>>);

impl Results {
    /// Adds a result.
    pub(crate) fn add(&self, var: &Var) {
        self.0.lock().push(var.downgrade());
    }

    /// Those that somebody holds and that exist outside of regions, in the order in which they were made.
    pub(crate) fn held(&self) -> SmallVec<[Var; 2]> {
        let results = self.0.lock();
        results.iter().filter_map(Weak::upgrade).filter(|var| var.region() == RegionId::NONE).collect()
    }
}

/// The parts of a recorded scatter.
pub(crate) struct ScatterExtra {
    /// How a value and the element are combined; a plain write without it.
    pub(crate) reduce: Option<ReduceOp>,
    /// The array before.
    pub(crate) target: Var,
    pub(crate) index: Var,
    pub(crate) value: Var,
    pub(crate) mask: Option<Var>,
    pub(crate) results: Results,
}

impl ScatterExtra {
    pub(crate) fn vars(&self) -> impl Iterator<Item = &Var> {
        [&self.target, &self.index, &self.value].into_iter().chain(&self.mask)
    }

    pub(crate) fn into_vars(self) -> Vec<Var> {
        [self.target, self.index, self.value].into_iter().chain(self.mask).collect()
    }
}

/// Writes values to an array where a mask holds, or combines them with what is there.
#[track_caller]
pub(crate) fn scatter(target: &mut Var, reduce: Option<ReduceOp>, value: &Var, index: &Var, mask: Option<&Var>) {
    let site = Location::caller();
    check_operation(target, reduce, site);
    let lanes = record::common_width([Some(index), Some(value), mask]);
    let mask = mask.filter(|mask| mask.literal() != Some(1));
    if lanes == 0 || mask.is_some_and(|mask| mask.literal() == Some(0)) {
        return;
    }
    check_target(target, site);
    let around = region::current_mask();
    check_index(target, index, mask.is_some() || around.is_some(), site);
    if changes_nothing(target, reduce, value) {
        return;
    }
    let mask = match (around, mask) {
        (Some(around), Some(mask)) => Some(record::and(&around, mask)),
        (around, mask) => around.or_else(|| mask.cloned()),
    };
    let pinned = region::innermost_body();
    let region = region::of_operands([Some(index), Some(value), mask.as_ref()]).max(pinned);
    let lanes = record::common_width([Some(index), Some(value), mask.as_ref()]);
    let (ty, width) = (target.ty(), target.width() as u32);
    let before = std::mem::replace(target, record::literal(ty, 0, 1));
    let extra = ScatterExtra {
        reduce,
        target: before,
        index: index.clone(),
        value: value.clone(),
        mask,
        results: Results::default(),
    };
    let node = control_node(Op::Scatter, lanes, Extra::Scatter(extra), region, site);
    number::count_work(Op::Scatter.weight());
    *target = array_after(&node, ty, width, ARRAY, site);
}

/// The array that a scatter or loop leaves in memory.
fn array_after(control: &Var, ty: Type, width: u32, position: usize, site: &'static Location<'static>) -> Var {
    let region = if region::is_open() { RegionId::WRITING } else { RegionId::NONE };
    let op = Op::ScatterResult;
    let var = result(op, control, ty, width, position, region, site);
    if let Some(Extra::Scatter(extra)) = control.extra() {
        extra.results.add(&var);
    }
    var
}

/// The array that one was made from by a scatter.
fn before(var: &Var) -> Option<Var> {
    if var.op() != Op::ScatterResult || var.position() != ARRAY {
        return None;
    }
    match var.operand(0)?.extra()? {
        Extra::Scatter(extra) => Some(extra.target.clone()),
        _ => None,
    }
}

/// Whether an array was made from another one by scatters alone.
pub(crate) fn continues(after: &Var, from: &Var) -> bool {
    let mut array = after.clone();
    while let Some(before) = before(&array) {
        if before.is_same(from) {
            return true;
        }
        array = before;
    }
    false
}

/// Of an array before and after a piece of the program, the one after if scatters alone have made it.
pub(crate) fn latest(before: &Var, after: &Var) -> Var {
    if continues(after, before) { after.clone() } else { before.clone() }
}

/// An array that was written in a region that has just been closed, for use outside of it.
pub(crate) fn settle(var: &Var) -> Var {
    if var.region() != RegionId::WRITING || region::is_open() {
        return var.clone();
    }
    let control = var.operand(0).expect("what was written in a region is not evaluated before its end");
    array_after(&control, var.ty(), var.width() as u32, var.position(), var.site())
}

/// Whether a scatter leaves the array as it is, whatever its index.
fn changes_nothing(target: &Var, reduce: Option<ReduceOp>, value: &Var) -> bool {
    let Some(bits) = value.literal() else { return false };
    let ty = target.ty();
    match reduce {
        None => target.literal() == Some(bits),
        // Adding -0 changes nothing, adding +0 at most the sign of a zero.
        Some(ReduceOp::Add) if ty.is_float() => bits & (ty.bit_mask() >> 1) == 0,
        Some(op) => bits == scalar::identity(op, ty),
    }
}

fn check_operation(target: &Var, reduce: Option<ReduceOp>, site: &'static Location<'static>) {
    let Some(op) = reduce.filter(|&op| !scalar::is_supported_reduce(op, target.ty())) else { return };
    Misuse::new(format!("`{}` does not exist for {}", op.name(), target.ty()), site)
        .value("the array", target)
        .hint("`and` and `or` are for integers and `bool`, the others for numbers")
        .panic();
}

fn check_target(target: &Var, site: &'static Location<'static>) {
    if target.width() == 0 {
        Misuse::new("an array without elements cannot be scattered to", site).value("the array", target).panic();
    }
    if region::is_in_condition() {
        Misuse::new("the condition of a traced loop cannot write to an array", site)
            .value("the array", target)
            .hint("a condition is computed once more than the body; write in the body, or before the loop")
            .panic();
    }
    let is_written_in_region = target.region() == RegionId::WRITING && region::is_open();
    if !is_written_in_region {
        region::check(target, site);
    }
    if region::innermost_body() != RegionId::NONE || (target.region() != RegionId::NONE && !is_written_in_region) {
        Misuse::new("an array cannot be written by the lanes of a traced loop", site)
            .value("the array", target)
            .panic();
    }
}

/// What is known about the index while recording.
fn check_index(target: &Var, index: &Var, is_masked: bool, site: &'static Location<'static>) {
    let Some(bits) = index.literal() else { return };
    let position = scalar::cast(index.ty(), Type::I64, bits) as i64;
    let is_negative = index.ty().is_signed_integer() && position < 0;
    if (is_negative || position as u64 >= target.width() as u64) && !is_masked {
        let shown = if is_negative { position.to_string() } else { (position as u64).to_string() };
        let what = format!("element {shown} is outside of an array of width {}", target.width());
        Misuse::new(what, site).value("the array", target).value("the index", index).panic();
    }
}
