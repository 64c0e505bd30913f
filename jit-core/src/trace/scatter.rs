//! Recording a scatter: writing to elements at computed positions.
//!
//! A scatter is a value like any other: the array after it is a new node, made from the array before it. So order is
//! dataflow, and a scatter whose result is never read never runs. The scheduler decides whether it runs in place, which
//! is usual. Two things differ from other nodes. A scatter has several results: the array and, for some operations, the
//! previous elements. And once it has run in place it cannot run again, so all results that still have owners are
//! computed together. The node therefore holds weak references to its results.
//!
//! Inside a traced region lanes write at different times, so the array cannot be read there until the region is closed:
//! its node is marked [`RegionId::WRITING`]. In a loop whose body writes to an array, the array is a state in memory,
//! see [`super::loops`].

use std::sync::Arc;

use jit_runtime::Site;
use jit_runtime::config;
use jit_runtime::ir::{AtomicOp, ReduceOp, Type, scalar};
use jit_runtime::report::Assertion;

use super::index_range::is_never_inside;
use super::region::{self, Writes};
use super::unaffected::unaffected;
use super::{local, record, residue};
use crate::graph::node::Var;
use crate::graph::numbering;
use crate::graph::op::Op;
use crate::graph::payload::{How, Part, Payload, RegionId, Results, ScatterPayload, control_node, result};
use crate::graph::weak::Weak;
use crate::misuse::Misuse;
use crate::size::Size;
use crate::size::extent::Extent;

/// Returns whether lanes of an open region write an array.
pub(crate) fn is_written(var: &Var) -> bool {
    var.region() == RegionId::WRITING
}

/// The position of the array among the results of a scatter.
pub(crate) const ARRAY: usize = 0;
/// The position of the previous elements.
const OLD: usize = 1;
/// The position of the mask of lanes that have replaced the element.
const REPLACED: usize = 2;

/// The operands of a scatter.
pub(crate) struct Request<'a> {
    pub(crate) how: How,
    pub(crate) index: &'a Var,
    pub(crate) value: &'a Var,
    pub(crate) expected: Option<&'a Var>,
    pub(crate) mask: Option<&'a Var>,
}

/// Writes values to an array where a mask holds, or combines them with its elements.
#[track_caller]
pub(crate) fn scatter(target: &mut Var, request: &Request<'_>) {
    scatter_disjoint(target, request, false);
}

/// Like [`scatter`]; the caller knows whether the last scatter to the array was one of the same kind, to other
/// elements.
#[track_caller]
pub(crate) fn scatter_disjoint(target: &mut Var, request: &Request<'_>, is_disjoint: bool) {
    if record_scatter(target, request, is_disjoint).is_none() && !is_written(target) {
        *target = unaffected(target.clone(), [request.value]);
    }
}

/// Like [`scatter`]; returns the previous elements, zero where the mask does not hold.
#[track_caller]
pub(crate) fn exchange(target: &mut Var, request: &Request<'_>) -> Var {
    let ty = target.ty();
    match record_scatter(target, request, false) {
        Some(node) => value_after(&node, ty, OLD),
        None => zero(request, ty),
    }
}

/// Like [`exchange`]; also returns the lanes that have replaced the element.
#[track_caller]
pub(crate) fn compare_exchange(target: &mut Var, request: &Request<'_>) -> (Var, Var) {
    let ty = target.ty();
    match record_scatter(target, request, false) {
        Some(node) => (value_after(&node, ty, OLD), value_after(&node, Type::Bool, REPLACED)),
        None => (zero(request, ty), zero(request, Type::Bool)),
    }
}

#[track_caller]
fn zero(request: &Request<'_>, ty: Type) -> Var {
    record::literal(ty, 0, lanes(request, request.mask))
}

/// Records a scatter, unless it has no effect.
#[track_caller]
fn record_scatter(target: &mut Var, request: &Request<'_>, is_disjoint: bool) -> Option<Var> {
    let site = Site::here();
    let Request { how, index, value, mask, .. } = *request;
    check_operation(target, how, site);
    let lanes = lanes(request, mask);
    let mask = mask.filter(|mask| mask.literal() != Some(1));
    if lanes.lanes == 0 || mask.is_some_and(|mask| mask.literal() == Some(0)) {
        return None;
    }
    check_target(target, site);
    // In debug mode a wrong index is an error, even if the write would change nothing.
    if !config::is_debug_on() && (writes_nowhere(target, index) || changes_nothing(target, how, value)) {
        return None;
    }
    let mask = reaching(mask);
    // No lane reaches it: a call on no lanes, or of a target that no lane calls.
    if mask.as_ref().is_some_and(|mask| mask.width() == 0 || mask.literal() == Some(0)) {
        return None;
    }
    let is_disjoint = is_disjoint || how == How::Write && residue::is_disjoint(target, index);
    let node = append(target, request, mask, is_disjoint, OldValue::Unused, site);
    region::note_effect();
    Some(node)
}

/// Returns the lanes of a mask that reach the current code; all if there is no mask.
#[track_caller]
fn reaching(mask: Option<&Var>) -> Option<Var> {
    match (region::current_mask(), mask.filter(|mask| mask.literal() != Some(1))) {
        (Some(around), Some(mask)) => Some(record::and(&around, mask)),
        (around, mask) => around.or_else(|| mask.cloned()),
    }
}

/// Records a scatter to an array of a report, in any region; returns the previous elements for operations that return
/// them, otherwise the array.
pub(crate) fn report(
    target: &mut Var,
    request: &Request<'_>,
    is_disjoint: bool,
    part: Option<&(Arc<Assertion>, Part)>,
    site: Site,
) -> Var {
    let ty = target.ty();
    let node = append(target, request, reaching(request.mask), is_disjoint, OldValue::Of(part.cloned()), site);
    match request.how {
        How::Write | How::Reduce(_) => target.clone(),
        How::Atomic(_) | How::CompareExchange => value_after(&node, ty, OLD),
    }
}

/// Whether a scatter belongs to a report, and the part of an assertion that it reports.
enum OldValue {
    Unused,
    Of(Option<(Arc<Assertion>, Part)>),
}

/// Appends a scatter on the lanes of a mask.
#[track_caller]
fn append(
    target: &mut Var,
    request: &Request<'_>,
    mask: Option<Var>,
    is_disjoint: bool,
    telling: OldValue,
    site: Site,
) -> Var {
    let (is_report, part) = match telling {
        OldValue::Unused => (false, None),
        OldValue::Of(part) => (true, part),
    };
    let Request { how, index, value, expected, .. } = *request;
    let lanes = lanes(request, mask.as_ref());
    let operands = region::of_operands([Some(index), Some(value), expected]);
    let region = operands.max(region::of_operands([mask.as_ref(), None, None])).max(region::innermost_loop());
    let (ty, width) = (target.ty(), target.extent());
    let payload = ScatterPayload {
        how,
        // Not a clone, so that a sole owner stays the sole owner.
        target: std::mem::replace(target, record::literal(ty, 0, 1)),
        index: index.clone(),
        value: value.clone(),
        expected: expected.cloned(),
        mask,
        is_disjoint,
        is_in_condition: region::is_at_condition(),
        is_report,
        part,
        results: Results::default(),
    };
    let node = control_node(Op::Scatter, lanes, Payload::Scatter(payload), region, site);
    numbering::count_work(Op::Scatter.weight());
    region::note_write(&node);
    *target = array_after(&node, ty, width, ARRAY, site);
    node
}

#[track_caller]
fn lanes(request: &Request<'_>, mask: Option<&Var>) -> Extent {
    let width = record::common_width([Some(request.index), Some(request.value), mask]);
    match request.expected {
        Some(expected) if expected.width() != 1 && width.lanes != 1 && expected.width() != Size::from(width) => {
            record::width_mismatch(expected, request.index)
        }
        Some(expected) if width.lanes == 1 => expected.extent(),
        _ => width,
    }
}

/// Returns a per-lane result of a scatter.
fn value_after(scatter: &Var, ty: Type, position: usize) -> Var {
    let (width, region) = (scatter.extent(), scatter.region());
    register(result(Op::ScatterResult, scatter, ty, width, position, region, scatter.site()), scatter)
}

/// Returns the array in memory after a scatter or loop.
pub(crate) fn array_after(control: &Var, ty: Type, width: Extent, position: usize, site: Site) -> Var {
    let region = if region::is_recording() { RegionId::WRITING } else { RegionId::NONE };
    let op = if control.op() == Op::Loop { Op::LoopResult } else { Op::ScatterResult };
    let array = register(result(op, control, ty, width, position, region, site), control);
    if let Some((before, _)) = before(&array) {
        region::note_version(&array, &before);
    }
    if region == RegionId::WRITING {
        region::note_written(&array);
    }
    array
}

/// Returns the node itself, unless the region was aborted in which it represented a value from before.
pub(crate) fn original(var: &Var) -> Var {
    let mut found = var.clone();
    while let Some(original) = found.original() {
        found = original;
    }
    found
}

fn register(result: Var, control: &Var) -> Var {
    match control.payload() {
        Some(Payload::Scatter(payload)) => payload.results.add(&result),
        Some(Payload::Loop(payload)) => payload.results.add(&result),
        Some(Payload::Branch(_) | Payload::Switch(_) | Payload::LibraryCall(_)) | None => {}
    }
    result
}

/// Returns the array before the last scatter, or before a loop that scatters, with that scatter or loop.
pub(crate) fn before(array: &Var) -> Option<(Var, Var)> {
    // Such a node can be neither another array nor the result of a scatter.
    array.op().original_slot()?;
    let array = &original(array);
    if !matches!(array.op(), Op::ScatterResult | Op::LoopResult) {
        return None;
    }
    let control = array.operand(0)?;
    let before = match control.payload()? {
        Payload::Scatter(payload) if array.position() == ARRAY => payload.target.clone(),
        Payload::Loop(payload) if payload.states[array.position()].is_memory => {
            payload.states[array.position()].init.clone()
        }
        _ => return None,
    };
    Some((before, control))
}

/// Returns the array or per-lane local memory before the last write, and the writing node.
fn before_write(after: &Var) -> Option<(Var, Var)> {
    if local::is_local(after) { local::before(after) } else { before(after) }
}

/// Returns whether an array was made from another one only by scatters, or per-lane local memory by writes to it.
pub(crate) fn is_version_of(after: &Var, from: &Var) -> bool {
    let mut array = before_write(after);
    while let Some((before, _)) = array {
        if before.is_same(from) {
            return true;
        }
        array = before_write(&before);
    }
    false
}

/// Like [`is_version_of`], for the writes of a region, which are on its own lanes; also where arrays were evaluated in
/// between.
pub(crate) fn continues_within(writes: &Writes, after: &Var, from: &Var) -> bool {
    let (mut array, from) = (after.downgrade(), from.downgrade());
    let before = |array: Weak| match array.upgrade().as_ref().and_then(before_write) {
        Some((before, writer)) => writes.contains(&writer).then(|| before.downgrade()),
        None => writes.before(array),
    };
    while let Some(before) = before(array) {
        if before == from {
            return true;
        }
        array = before;
    }
    false
}

/// Returns the first version of an array, before all scatters.
pub(crate) fn origin(array: &Var) -> Var {
    let mut array = array.clone();
    while let Some((before, _)) = before(&array) {
        array = before;
    }
    array
}

/// Returns the array after a region if only the region's writes made it from the one before, otherwise the one before.
fn latest(writes: &Writes, before: &Var, after: &Var) -> Var {
    if continues_within(writes, after, before) { after.clone() } else { before.clone() }
}

/// Like [`latest`], for each array.
pub(crate) fn latest_of(writes: &Writes, before: &[Var], after: &[Var]) -> Vec<Var> {
    before.iter().zip(after).map(|(before, after)| latest(writes, before, after)).collect()
}

/// Returns an array that was written in a region that has just been closed, for use outside of it.
pub(crate) fn settle(var: &Var) -> Var {
    if var.region() != RegionId::WRITING || region::is_recording() {
        return var.clone();
    }
    let var = &original(var);
    if var.region() != RegionId::WRITING {
        return var.clone();
    }
    let control = var.operand(0).expect("an array that a region writes is not evaluated before its end");
    array_after(&control, var.ty(), var.extent(), var.position(), var.site())
}

/// Returns whether no lane has an index that is in range.
fn writes_nowhere(target: &Var, index: &Var) -> bool {
    target.width() == 0 || is_never_inside(index, target.width())
}

/// Returns whether a scatter leaves the array unchanged, whatever its index, and its old values are not requested.
fn changes_nothing(target: &Var, how: How, value: &Var) -> bool {
    let Some(bits) = value.literal() else { return false };
    let ty = target.ty();
    match how {
        How::Write => target.literal() == Some(bits),
        // Only -0: adding +0 changes the sign of -0.
        How::Reduce(ReduceOp::Add) if ty.is_float() => bits == ty.bit_mask() ^ ty.bit_mask() >> 1,
        How::Reduce(op) => bits == scalar::identity(op, ty),
        How::Atomic(_) | How::CompareExchange => false,
    }
}

fn check_operation(target: &Var, how: How, site: Site) {
    let (How::Reduce(op) | How::Atomic(AtomicOp::Reduce(op))) = how else { return };
    if !scalar::is_supported_reduce(op, target.ty()) {
        Misuse::new(format!("`{}` does not exist for {}", op.name(), target.ty()), site)
            .value("the array", target)
            .hint("`and` and `or` are for integers and `bool`, the others for numbers")
            .panic();
    }
}

fn check_target(target: &Var, site: Site) {
    if region::is_in_condition() {
        Misuse::new("the condition of a traced loop cannot write to an array", site)
            .value("the array", target)
            .hint("a condition is computed once more than the body; write in the body, or before the loop")
            .panic();
    }
    let body = region::innermost_body();
    if body != RegionId::NONE {
        check_state(target, body, site);
    } else if target.region() != RegionId::WRITING || !region::is_recording() {
        region::check(target, site);
    }
}

/// Lanes are in different iterations, so the array that they write to must be the same for all of them: a state of the
/// loop.
fn check_state(target: &Var, body: RegionId, site: Site) {
    let origin = origin(target);
    if origin.op() == Op::Param && origin.region() == body {
        return;
    }
    let mut misuse =
        Misuse::new("inside of a traced loop, only its state can be written to", site).value("the array", &origin);
    if let Some(begin) = region::site_of(body) {
        misuse = misuse.place("the loop begins", begin);
    }
    misuse
        .hint(
            "declare the array with `let mut` before the loop and scatter to that variable, which every lane then \
            shares",
        )
        .panic()
}
