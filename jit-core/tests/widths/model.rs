//! Arrays with their elements on the host, and operations on those by their definitions.

use jit_core::{Array, Element};
use jit_runtime::ir::{ReduceOp, Type, scalar};

/// An array, and its elements according to the model.
#[derive(Clone)]
pub(super) struct Value<T: Element> {
    pub(super) array: Array<T>,
    pub(super) bits: Vec<u64>,
}

impl<T: Element> Value<T> {
    pub(super) fn new(array: Array<T>, bits: Vec<u64>) -> Value<T> {
        Value { array, bits }
    }

    pub(super) fn len(&self) -> usize {
        self.bits.len()
    }

    /// The element of a lane; one element is the same in all lanes.
    pub(super) fn at(&self, lane: usize) -> u64 {
        if self.len() == 1 { self.bits[0] } else { self.bits[lane] }
    }
}

/// A model of an operation on lanes.
pub(super) fn lanes(width: usize, of: impl FnMut(usize) -> u64) -> Vec<u64> {
    (0..width).map(of).collect()
}

/// The position that an index of some type names; none if it is negative.
pub(super) fn position<K: Element>(bits: u64) -> Option<usize> {
    if K::TYPE.is_signed_integer() {
        usize::try_from(scalar::cast(K::TYPE, Type::I64, bits) as i64).ok()
    } else {
        usize::try_from(bits).ok()
    }
}

pub(super) const REDUCTIONS: [ReduceOp; 6] =
    [ReduceOp::Add, ReduceOp::Mul, ReduceOp::Min, ReduceOp::Max, ReduceOp::And, ReduceOp::Or];

/// Whether the sums of a type do not depend on the order of small whole numbers, since they are exact.
pub(super) fn is_exact(op: ReduceOp, ty: Type) -> bool {
    match op {
        ReduceOp::Add => true,
        ReduceOp::Mul => ty.is_integer(),
        ReduceOp::Min | ReduceOp::Max => ty != Type::Bool,
        _ => ty.is_integer(),
    }
}

/// The reduction of some elements in ascending order. Halves are summed in single precision and rounded once.
pub(super) fn reduced<'a>(op: ReduceOp, ty: Type, elements: impl Iterator<Item = &'a u64>) -> u64 {
    if ty == Type::F16 && op == ReduceOp::Add {
        let single = elements.map(|bits| scalar::cast(ty, Type::F32, *bits));
        let sum = single.fold(scalar::identity(op, Type::F32), |a, b| scalar::reduce(op, Type::F32, a, b));
        return scalar::cast(Type::F32, ty, sum);
    }
    elements.fold(scalar::identity(op, ty), |a, b| scalar::reduce(op, ty, a, *b))
}

/// Prefix reductions of elements in the order of the scan.
pub(super) fn scanned(op: ReduceOp, ty: Type, elements: &[u64], is_exclusive: bool) -> Vec<u64> {
    let wide = if ty == Type::F16 && op == ReduceOp::Add { Type::F32 } else { ty };
    let mut total = scalar::identity(op, wide);
    let step = |bits: &u64| {
        let before = total;
        total = scalar::reduce(op, wide, total, scalar::cast(ty, wide, *bits));
        scalar::cast(wide, ty, if is_exclusive { before } else { total })
    };
    elements.iter().map(step).collect()
}

/// An element that a reduction leaves as it is.
pub(super) fn neutral<T: Element>(op: ReduceOp) -> T {
    T::from_bits(scalar::identity(op, T::TYPE))
}

pub(super) fn step_by(mut part: Vec<u64>, step: isize) -> Vec<u64> {
    if step < 0 {
        part.reverse();
    }
    part.into_iter().step_by(step.unsigned_abs()).collect()
}

/// The order of sorting: -0 before +0, and NaN last.
pub(super) fn order(ty: Type, a: u64, b: u64) -> std::cmp::Ordering {
    if !ty.is_float() {
        let wide = |bits| scalar::cast(ty, if ty.is_signed_integer() { Type::I64 } else { Type::U64 }, bits);
        return match ty.is_signed_integer() {
            true => (wide(a) as i64).cmp(&(wide(b) as i64)),
            false => wide(a).cmp(&wide(b)),
        };
    }
    let value = |bits| f64::from_bits(scalar::cast(ty, Type::F64, bits));
    match (value(a).is_nan(), value(b).is_nan()) {
        (false, false) => value(a).total_cmp(&value(b)),
        (a, b) => a.cmp(&b),
    }
}
