//! Recording a reduction.

use jit_runtime::Site;
use jit_runtime::ir::{REDUCE_ROW, ReduceOp, Type, UnaryOp, reduce_chunk, scalar};

use super::unaffected::unaffected;
use super::{record, region};
use crate::graph::node::{Var, flag};
use crate::graph::payload::RegionId;
use crate::misuse::Misuse;
use crate::size::Size;

/// Combines all lanes into one value of width 1.
#[track_caller]
pub(crate) fn reduce(op: ReduceOp, a: &Var) -> Var {
    refuse_inside_of_loops(a);
    if a.width() == 0 {
        return unaffected(record::literal(a.ty(), scalar::identity(op, a.ty()), 1), [a]);
    }
    if a.width() == 1 {
        return record::folded_to(a.clone());
    }
    if let Some(folded) = repeated(op, a) {
        return folded;
    }
    if is_rounded_once(op, a.ty()) {
        return record::cast(a.ty(), &reduce(op, &record::cast(Type::F32, a)));
    }
    match a.literal() {
        Some(bits) => record::literal(a.ty(), repeated_float(op, a.ty(), bits, a.width().get()), 1),
        None => record::reduce_node(op, a),
    }
}

/// Returns whether values are combined in `f32` and the result is rounded: sums and products of halves.
pub(crate) fn is_rounded_once(op: ReduceOp, ty: Type) -> bool {
    matches!(op, ReduceOp::Add | ReduceOp::Mul) && matches!(ty, Type::F16 | Type::BF16)
}

/// Computes the sum in its precision: halves in `f32`.
#[track_caller]
pub(crate) fn sum_wide(a: &Var) -> Var {
    match a.ty() {
        Type::F16 | Type::BF16 => reduce(ReduceOp::Add, &record::cast(Type::F32, a)),
        _ => reduce(ReduceOp::Add, a),
    }
}

/// Returns the reduction of a value that is the same in every lane, if it is exact.
#[track_caller]
fn repeated(op: ReduceOp, a: &Var) -> Option<Var> {
    Some(record::literal(a.ty(), repeated_bits(op, a.ty(), a.literal()?, a.width())?, 1))
}

/// Returns the bits of a value reduced a number of times, if that is exact, and if the number is the same in each
/// replay or does not matter.
pub(super) fn repeated_bits(op: ReduceOp, ty: Type, bits: u64, times: Size) -> Option<u64> {
    if matches!(op, ReduceOp::Min | ReduceOp::Max | ReduceOp::And | ReduceOp::Or) {
        return Some(bits);
    }
    let width = times.is_number().then(|| times.value() as u64)?;
    Some(match op {
        // Wrapping, like the sum of the lanes.
        ReduceOp::Add if ty.is_integer() => bits.wrapping_mul(width),
        ReduceOp::Add if is_exact_multiple(ty, bits, width) => {
            let count = scalar::cast(Type::U64, ty, width);
            scalar::binary(jit_runtime::ir::BinaryOp::Mul, ty, bits, count)
        }
        ReduceOp::Mul if ty.is_integer() => wrapping_power(bits, width),
        _ => return None,
    })
}

/// Returns whether every partial sum of the float is exact, so that the order of the sum and the number of roundings do
/// not matter.
fn is_exact_multiple(ty: Type, bits: u64, width: u64) -> bool {
    let (significand, value) = match ty {
        Type::F32 => (24, f64::from(f32::from_bits(bits as u32))),
        Type::F64 => (53, f64::from_bits(bits)),
        _ => return false,
    };
    let whole = scalar::binary(jit_runtime::ir::BinaryOp::Min, Type::F64, value.abs().to_bits(), 1e9_f64.to_bits());
    let magnitude = f64::from_bits(whole);
    let is_whole = f64::from_bits(scalar::unary(UnaryOp::Trunc, Type::F64, magnitude.to_bits())) == magnitude;
    // A sum of zeros is +0 by definition.
    is_whole
        && value != 0.0
        && magnitude < 1e9
        && magnitude * (width as f64) < f64::from(1u32 << (significand.min(31) - 1))
}

/// Computes a sum or product of equal floats, rounded like any other: in the order that the kernel IR defines.
fn repeated_float(op: ReduceOp, ty: Type, bits: u64, width: usize) -> u64 {
    let combine = |a, b| scalar::reduce(op, ty, a, b);
    let chunk = |lanes: usize| {
        let short = (0..lanes / REDUCE_ROW).fold(scalar::identity(op, ty), |result, _| combine(result, bits));
        let mut row = [short; REDUCE_ROW];
        row[..lanes % REDUCE_ROW].fill(combine(short, bits));
        let mut half = REDUCE_ROW / 2;
        while half > 0 {
            (0..half).for_each(|at| row[at] = combine(row[at], row[at + half]));
            half /= 2;
        }
        row[0]
    };
    let lanes = reduce_chunk(width, width);
    let full = chunk(lanes);
    let last = if width.is_multiple_of(lanes) { full } else { chunk(width % lanes) };
    match width.div_ceil(lanes) {
        0 => scalar::identity(op, ty),
        chunks => scalar::reduce_equal_in_pairs(op, ty, full, last, chunks),
    }
}

fn wrapping_power(base: u64, mut exponent: u64) -> u64 {
    let (mut power, mut square) = (1u64, base);
    while exponent != 0 {
        if exponent & 1 == 1 {
            power = power.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        exponent >>= 1;
    }
    power
}

/// Rejects state of loops: a reduction reads all lanes, but the lanes of a loop are in different iterations.
#[track_caller]
pub(super) fn refuse_inside_of_loops(a: &Var) {
    let is_differentiated = a.flags() & flag::GRAD != 0;
    refuse(a, is_differentiated.then_some("`ad::grad` of values that are not reduced is that of their sum"));
}

/// Sums the gradients that lanes have for a value that they share.
#[track_caller]
pub(crate) fn sum_of_shared(gradient: &Var) -> Var {
    let hint = "the gradient of an array of width 1 is the sum over all lanes that use it: make the array as wide as \
                they are before the loop, as in `x.zeros_like() + y`";
    refuse(gradient, Some(hint));
    reduce(ReduceOp::Add, gradient)
}

#[track_caller]
fn refuse(a: &Var, hint: Option<&str>) {
    if a.region() == RegionId::NONE {
        return;
    }
    let site = Site::here();
    region::check(a, site);
    let mut misuse =
        Misuse::new("the state of a traced loop cannot be reduced over its lanes", site).value("the value", a);
    if let Some(begin) = region::site_of(a.region()) {
        misuse = misuse.place("the loop begins", begin);
    }
    misuse = misuse.hint("lanes run a traced loop independently: reduce before or after it");
    if let Some(hint) = hint {
        misuse = misuse.hint(hint);
    }
    misuse.panic()
}
