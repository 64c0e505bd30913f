//! Recording: one function for each kind of node. Each checks widths and regions, folds where possible, and
//! value-numbers the remaining nodes.
//!
//! Element types are the callers' responsibility: the typed arrays above cannot get them wrong.

use std::sync::Arc;

use jit_runtime::Site;
use jit_runtime::ir::{BinaryOp, CompareOp, ReduceOp, Type, UnaryOp, scalar};
use jit_runtime::memory::Buffer;

use super::{fast, fold, region};
use crate::capture::{host_call, launches, nodes};
use crate::graph::node::{Draft, Var, flag};
use crate::graph::op::Op;
use crate::graph::payload::RegionId;
use crate::graph::tape;
use crate::graph::{gradients, numbering, scopes};
use crate::misuse::Misuse;
use crate::size::Size;
use crate::size::extent::Extent;

/// Returns the common width of operands: all have the same width, or width 1.
// Always: if the operands are known to be present, little of the loop remains.
#[inline(always)]
#[track_caller]
pub(crate) fn common_width(operands: [Option<&Var>; 3]) -> Extent {
    let mut widest: Option<&Var> = None;
    let mut extent = Extent::ONE;
    for operand in operands.into_iter().flatten() {
        let own = operand.extent();
        match widest {
            Some(_) if own == extent || own.lanes == 1 => {}
            Some(other) if extent.lanes != 1 => require_equal_width(other, operand),
            _ => (widest, extent) = (Some(operand), own),
        }
    }
    extent
}

/// Widths may be equal although their expressions differ; a recording then relies on the equality.
#[cold]
#[track_caller]
fn require_equal_width(first: &Var, second: &Var) {
    if first.width() != second.width() {
        width_mismatch(first, second);
    }
}

#[cold]
#[track_caller]
pub(crate) fn width_mismatch(first: &Var, second: &Var) -> ! {
    width_mismatch_at(first, second, Site::here())
}

#[cold]
pub(crate) fn width_mismatch_at(first: &Var, second: &Var, site: Site) -> ! {
    let what = format!("arrays of width {} and {} cannot be combined", first.lanes(), second.lanes());
    Misuse::new(what, site)
        .value("the first array", first)
        .value("the second array", second)
        .hint("widths must be equal, or one of them 1; `gather` reads an element of one array for each lane of another")
        .panic()
}

fn leaf(op: Op, ty: Type, width: Extent, word: u64, site: Site) -> Draft<'static> {
    Draft { op, ty, width, region: RegionId::NONE, flags: 0, operands: [None; 3], position: 0, word, site }
}

/// Records a constant that becomes a literal in the code.
#[inline]
#[track_caller]
pub(crate) fn literal(ty: Type, bits: u64, width: impl Into<Size>) -> Var {
    leaf(Op::Literal, ty, Extent::of(width), bits & ty.bit_mask(), Site::here()).number()
}

/// Records a number of elements as a value of width 1: a constant, or in a recording a value that each replay computes.
#[track_caller]
pub(crate) fn size(size: impl Into<Size>) -> Var {
    size_as(Type::U32, size)
}

/// Like [`size`], for any type of numbers.
#[track_caller]
pub(crate) fn size_as(ty: Type, size: impl Into<Size>) -> Var {
    let size = size.into().here();
    let bits = scalar::cast(Type::U64, ty, size.value() as u64);
    if size.is_constant() {
        return literal(ty, bits, 1);
    }
    if let Some(known) = nodes::value_of(size, ty) {
        return known;
    }
    let var = opaque(ty, bits, 1);
    nodes::note_size(&var, size);
    var
}

/// Records a host value that never becomes a literal in the code.
#[track_caller]
pub(crate) fn opaque(ty: Type, bits: u64, width: impl Into<Size>) -> Var {
    Var::new(leaf(Op::Scalar, ty, Extent::of(width), bits & ty.bit_mask(), Site::here()))
}

/// Records the value of an opaque node with another width.
#[track_caller]
pub(crate) fn opaque_like(value: &Var, width: impl Into<Size>) -> Var {
    host_call::refuse_use(value, Site::here());
    let var = opaque(value.ty(), value.known_bits().unwrap_or_default(), width);
    if launches::is_recording() {
        launches::note_same_scalar(&var, value);
    }
    var
}

/// Records elements in memory.
#[track_caller]
pub(crate) fn data(ty: Type, width: impl Into<Size>, buffer: Arc<Buffer>) -> Var {
    data_at(Site::here(), ty, width, buffer)
}

/// Like [`data`], for a line of the user's program that is not our caller.
#[track_caller]
pub(crate) fn data_at(site: Site, ty: Type, width: impl Into<Size>, buffer: Arc<Buffer>) -> Var {
    let var = without_elements(site, ty, width, &buffer);
    var.set_data(buffer);
    var
}

/// Records elements in memory that the host has made from constants. As other constants, they are on no device, and
/// combine with values on any.
#[track_caller]
pub(crate) fn constants(ty: Type, width: impl Into<Size>, buffer: Arc<Buffer>) -> Var {
    constants_at(Site::here(), ty, width, buffer)
}

/// Like [`constants`], for a line of the user's program that is not our caller.
#[track_caller]
pub(crate) fn constants_at(site: Site, ty: Type, width: impl Into<Size>, buffer: Arc<Buffer>) -> Var {
    let var = without_elements(site, ty, width, &buffer);
    var.set_constant_data(buffer);
    var
}

/// Records an array whose elements, in this memory, are still to be assigned.
#[track_caller]
fn without_elements(site: Site, ty: Type, width: impl Into<Size>, buffer: &Arc<Buffer>) -> Var {
    let width = Extent::of(width);
    debug_assert!(buffer.size_bytes() >= width.lanes as usize * ty.size_bytes());
    let var = Var::new(leaf(Op::Data, ty, width, 0, site));
    if launches::is_recording() {
        launches::note_constant(&var, buffer);
    }
    var
}

/// Records a type and a width without a value.
#[track_caller]
pub(crate) fn placeholder(ty: Type, width: impl Into<Size>) -> Var {
    Var::new(leaf(Op::Placeholder, ty, Extent::of(width), 0, Site::here()))
}

/// Records the index of each lane, `u32`.
#[track_caller]
pub(crate) fn lane_index(width: impl Into<Size>) -> Var {
    let width = width.into();
    if width == 1 {
        // Values of width 1 are the same in every lane of a wider kernel, which the index is not.
        return literal(Type::U32, 0, 1);
    }
    leaf(Op::LaneIndex, Type::U32, Extent::of(width), 0, Site::here()).number()
}

/// Value-numbers a node with up to three operands.
#[inline]
#[track_caller]
fn node(op: Op, ty: Type, width: Extent, operands: [Option<&Var>; 3]) -> Var {
    node_at(Site::here(), op, ty, width, operands)
}

#[inline(always)]
fn node_at(site: Site, op: Op, ty: Type, width: Extent, operands: [Option<&Var>; 3]) -> Var {
    let region = region::of_operands_at(operands, site);
    Draft { op, ty, width, region, flags: 0, operands, position: 0, word: 0, site }.number()
}

/// Repeats a value to a width, which must be its own unless it has width 1.
#[track_caller]
pub(crate) fn broadcast(a: &Var, width: impl Into<Size>) -> Var {
    let width = width.into();
    if a.width() == width {
        return a.clone();
    }
    debug_assert_eq!(a.lanes(), 1);
    match a.literal() {
        Some(bits) => literal(a.ty(), bits, width),
        None => node(Op::Broadcast, a.ty(), Extent::of(width), [Some(a), None, None]),
    }
}

/// Returns what an operation folds to. Where it is one of the operands, it carries gradients only if a node would:
/// whether an operation folds must not decide how gradients flow.
#[inline]
#[track_caller]
pub(crate) fn folded_to(var: Var) -> Var {
    if var.flags() & flag::GRAD == 0 || scopes::is_enabled(&var) { var } else { detached(&var) }
}

/// Records an operation on one value.
#[inline]
#[track_caller]
pub(crate) fn unary(op: UnaryOp, a: &Var) -> Var {
    let op = fast::unary(op, a.ty());
    match fold::unary(op, a) {
        Some(folded) => folded_to(folded),
        None => node(Op::Unary(op), a.ty(), a.extent(), [Some(a), None, None]),
    }
}

/// Records an operation on two values of one type.
#[inline]
#[track_caller]
pub(crate) fn binary(op: BinaryOp, a: &Var, b: &Var) -> Var {
    debug_assert_eq!(a.ty(), b.ty());
    let op = fast::binary_op(op, a.ty());
    let width = common_width([Some(a), Some(b), None]);
    if let Some(folded) = fold::binary(op, a, b, width.into()) {
        return folded_to(folded);
    }
    if let Some(cheaper) = fast::binary(op, a, b) {
        return broadcast(&cheaper, width);
    }
    let (a, b) = if Op::Binary(op).may_exchange(a.flags() | b.flags()) { ordered(a, b) } else { (a, b) };
    node(Op::Binary(op), a.ty(), width, [Some(a), Some(b), None])
}

/// Returns the operands of a commutative operation, with a literal, if there is one, in the second place.
#[inline]
fn ordered<'a>(a: &'a Var, b: &'a Var) -> (&'a Var, &'a Var) {
    if a.op() == Op::Literal { (b, a) } else { (a, b) }
}

/// Records `a * b + c`, rounded once.
#[inline]
#[track_caller]
pub(crate) fn fma(a: &Var, b: &Var, c: &Var) -> Var {
    let operands = [Some(a), Some(b), Some(c)];
    let width = common_width(operands);
    if let Some(folded) = fold::fma(a, b, c, width.into()) {
        return folded_to(folded);
    }
    let (a, b) = ordered(a, b);
    node(Op::Fma, a.ty(), width, [Some(a), Some(b), Some(c)])
}

/// Records a comparison of two values of one type.
#[inline]
#[track_caller]
pub(crate) fn compare(op: CompareOp, a: &Var, b: &Var) -> Var {
    debug_assert_eq!(a.ty(), b.ty());
    let width = common_width([Some(a), Some(b), None]);
    if let Some(folded) = fold::compare(op, a, b, width.into()) {
        return folded;
    }
    let (op, a, b) = match op {
        CompareOp::Eq | CompareOp::Ne => {
            let (a, b) = ordered(a, b);
            (op, a, b)
        }
        // One direction is enough: `a > b` is `b < a`, also for NaN.
        CompareOp::Gt => (CompareOp::Lt, b, a),
        CompareOp::Ge => (CompareOp::Le, b, a),
        CompareOp::Lt | CompareOp::Le => (op, a, b),
    };
    node(Op::Compare(op), Type::Bool, width, [Some(a), Some(b), None])
}

/// Selects the first value where a mask holds, otherwise the second.
#[inline]
#[track_caller]
pub(crate) fn select(mask: &Var, a: &Var, b: &Var) -> Var {
    select_at(Site::here(), mask, a, b)
}

/// Like [`select`], for a line of the user's program that is not our caller.
#[track_caller]
pub(crate) fn select_at(site: Site, mask: &Var, a: &Var, b: &Var) -> Var {
    debug_assert_eq!(a.ty(), b.ty());
    let operands = [Some(mask), Some(a), Some(b)];
    let width = common_width(operands);
    match fold::select(mask, a, b, width.into()) {
        Some(folded) => folded_to(folded),
        None => node_at(site, Op::Select, a.ty(), width, operands),
    }
}

/// Returns the value of a node, through which no gradients flow.
#[track_caller]
pub(crate) fn detached(a: &Var) -> Var {
    if a.flags() & flag::GRAD == 0 {
        return a.clone();
    }
    // The value that a variable was made from, if it needs no kernel, saves one.
    if let Some(value) = tape::value_in_memory(a) {
        return value;
    }
    let (op, ty, width, operands, site) = (Op::Identity, a.ty(), a.extent(), [None; 3], Site::here());
    // The same memory: no kernel copies it, and what gradients flow through is not kept.
    if a.has_data() {
        let region = RegionId::NONE;
        let value = Var::new(Draft { op, ty, width, region, flags: 0, operands, position: 0, word: 0, site });
        value.share_data(a);
        numbering::note_made(&value);
        return value;
    }
    let _suspended = gradients::Scope::begin(true);
    node(op, ty, width, [Some(a), None, None])
}

/// Records a conversion by value.
#[inline]
#[track_caller]
pub(crate) fn cast(ty: Type, a: &Var) -> Var {
    match fold::cast(ty, a) {
        Some(folded) => folded_to(folded),
        None => node(Op::Cast, ty, a.extent(), [Some(a), None, None]),
    }
}

/// Records the same bits as another type of the same size.
#[inline]
#[track_caller]
pub(crate) fn bitcast(ty: Type, a: &Var) -> Var {
    match fold::bitcast(ty, a) {
        Some(folded) => folded_to(folded),
        None => node(Op::Bitcast, ty, a.extent(), [Some(a), None, None]),
    }
}

/// Logical and bitwise and.
#[track_caller]
pub(crate) fn and(a: &Var, b: &Var) -> Var {
    binary(BinaryOp::And, a, b)
}

/// Logical and bitwise complement.
#[track_caller]
pub(crate) fn not(a: &Var) -> Var {
    unary(UnaryOp::Not, a)
}

/// Returns whether a mask is recorded as the complement of another, or as the inequality comparison of an equality.
pub(crate) fn is_negation(mask: &Var, of: &Var) -> bool {
    let is_same = |slot: usize| mask.operand(slot).zip(of.operand(slot)).is_some_and(|(a, b)| a.is_same(&b));
    match (mask.op(), of.op()) {
        (Op::Compare(CompareOp::Ne), Op::Compare(CompareOp::Eq)) => is_same(0) && is_same(1),
        (Op::Unary(UnaryOp::Not), _) => mask.operand(0).is_some_and(|operand| operand.is_same(of)),
        _ => false,
    }
}

/// Records a gather whose source is or will be in memory.
#[track_caller]
pub(crate) fn gather_node(source: &Var, index: &Var, mask: Option<&Var>, flags: u16, pinned: RegionId) -> Var {
    let width = common_width([Some(index), mask, None]);
    let operands = [Some(source), Some(index), mask];
    let region = region::of_operands([Some(index), mask, None]).max(pinned);
    Draft { op: Op::Gather, ty: source.ty(), width, region, flags, operands, position: 0, word: 0, site: Site::here() }
        .number()
}

/// Records the combination of all lanes into one value.
#[track_caller]
pub(crate) fn reduce_node(op: ReduceOp, a: &Var) -> Var {
    node(Op::Reduce(op), a.ty(), Extent::ONE, [Some(a), None, None])
}

/// Records the combination of each block of lanes, shorter than all lanes, into one value.
#[track_caller]
pub(crate) fn block_reduce_node(op: ReduceOp, a: &Var, block: Size) -> Var {
    let operands = [Some(a), None, None];
    let width = Extent::of(a.width().div_ceil(block));
    let region = region::of_operands(operands);
    let (site, position) = (Site::here(), Extent::of(block).into_position());
    Draft { op: Op::Reduce(op), ty: a.ty(), width, region, flags: 0, operands, position, word: 0, site }.number()
}
