//! Prefix reductions.

use super::*;
use crate::backend::library::{PREFIX_CHUNK, PREFIX_ROW, Prefix, is_supported_prefix};

const OPS: [ReduceOp; 6] = [ReduceOp::Add, ReduceOp::Mul, ReduceOp::Min, ReduceOp::Max, ReduceOp::And, ReduceOp::Or];

/// Numbers around one, so that products stay finite, and among them corner cases, so that NaNs and zeros come up late.
pub(super) fn number(rng: &mut Rng, ty: Type, len: usize) -> u64 {
    if ty == Type::Bool {
        return u64::from(!rng.one_in(len.max(1)));
    }
    if rng.one_in(len.max(1)) {
        return rng.value(ty);
    }
    if !ty.is_float() {
        return rng.bits() & ty.bit_mask();
    }
    let number = (1.0 + rng.below(2000) as f64 / 100_000.0 - 0.01) * if rng.one_in(2) { 1.0 } else { -1.0 };
    scalar::cast(Type::F64, ty, number.to_bits())
}

fn check(prefix: Prefix, ty: Type, len: usize, seed: u64) {
    let mut rng = Rng::new(seed);
    let input: Vec<u64> = (0..len).map(|_| number(&mut rng, ty, len)).collect();
    check_call(Call::Prefix(prefix), &[operand(ty, &input)], &[(ty, len)], seed);
}

fn with_flags(op: ReduceOp, restart: usize, flags: u64) -> Prefix {
    Prefix { op, is_exclusive: flags & 1 != 0, is_reverse: flags & 2 != 0, restart }
}

/// Every operation on every type that it combines.
pub(super) fn operations() -> impl Iterator<Item = (ReduceOp, Type)> {
    let all = Type::ALL.into_iter().flat_map(|ty| OPS.map(|op| (op, ty)));
    all.filter(|&(op, ty)| is_supported_prefix(op, ty))
}

/// The prefix reductions of a type.
pub(super) fn calls(ty: Type) -> impl Iterator<Item = Call> {
    let ops = OPS.into_iter().filter(move |op| is_supported_prefix(*op, ty));
    ops.flat_map(|op| (0..4).map(move |flags| Call::Prefix(with_flags(op, usize::MAX, flags))))
}

#[test]
fn every_operation_scans_every_type() {
    let mut seed = 0;
    for ty in Type::ALL {
        for op in OPS.into_iter().filter(|op| is_supported_prefix(*op, ty)) {
            for (flags, restart) in [(0, usize::MAX), (1, 7), (2, PREFIX_ROW + 1), (3, 1000)] {
                seed += 1;
                check(with_flags(op, restart, flags), ty, PREFIX_ROW + 77, seed);
            }
        }
    }
}

#[test]
fn widths_and_parts_around_the_limits_of_rows_and_chunks() {
    let widths = [0, 1, 2, 31, 32, 33, PREFIX_ROW - 1, PREFIX_ROW, PREFIX_ROW + 1, PREFIX_CHUNK + 1];
    for (seed, len) in (0..).zip(widths) {
        for restart in [usize::MAX, 1, 13, 32, PREFIX_ROW, PREFIX_ROW + 1] {
            check(with_flags(ReduceOp::Add, restart, seed), Type::F32, len, seed);
            check(with_flags(ReduceOp::Add, restart, seed + 1), Type::U32, len, seed);
        }
    }
}

#[test]
fn tiles_find_the_totals_of_many_tiles_before_them() {
    check(with_flags(ReduceOp::Add, usize::MAX, 0), Type::U64, 84_000, 1);
    check(with_flags(ReduceOp::Max, 75_000, 3), Type::F32, 80_000, 2);
    check(with_flags(ReduceOp::Add, 4096, 2), Type::U8, 30_000, 4);
}

#[test]
fn long_sums_of_floats_are_combined_in_the_defined_order() {
    for (flags, ty) in (0..).zip([Type::F32, Type::F64, Type::F16, Type::BF16]) {
        check(with_flags(ReduceOp::Add, usize::MAX, flags), ty, 2 * PREFIX_CHUNK + 3 * PREFIX_ROW + 5, flags);
    }
    // Parts of several chunks, of which the last one is shorter.
    check(with_flags(ReduceOp::Add, PREFIX_CHUNK + PREFIX_ROW + 9, 2), Type::F32, 3 * PREFIX_CHUNK + 1, 9);
    check(with_flags(ReduceOp::Mul, PREFIX_CHUNK + 1, 1), Type::F32, 2 * PREFIX_CHUNK + 3, 10);
}
