//! Integer division against its definition: vector units have none, so quotients come from floating point, and those by
//! a shared divisor from a multiplication.
//!
//! For a fixed divisor the computed quotient does not decrease with the dividend, since rounding does not. So it is
//! right for all dividends if it is right for the first and the last one of each quotient.

use super::*;
use crate::ir::random::{Input, Rng};
use crate::ir::{Access, BinaryOp, Builder, Type, Value};

/// The operands of a lane.
type Operands = (i64, i64);

fn wrapped(ty: Type, value: i64) -> i64 {
    let unused = 64 - ty.bits();
    if ty.is_signed_integer() { value << unused >> unused } else { ((value as u64) << unused >> unused) as i64 }
}

/// Quotient and remainder, as the semantics of the operations define them.
fn expected(ty: Type, (a, b): Operands) -> [i64; 2] {
    if b == 0 { [wrapped(ty, -1), a] } else { [wrapped(ty, a / b), a % b] }
}

fn bytes(ty: Type, values: impl Iterator<Item = i64>) -> Vec<u8> {
    values.flat_map(|value| value.to_le_bytes()[..ty.size_bytes()].to_vec()).collect()
}

/// A kernel that divides what it loads by a value.
fn kernel(ty: Type, divisor: impl Fn(&mut Builder) -> Value) -> Kernel {
    let mut builder = Builder::new();
    let dividends = builder.buffer(ty, Access::Read);
    let (a, b) = (builder.load(dividends), divisor(&mut builder));
    for op in [BinaryOp::Div, BinaryOp::Rem] {
        let (result, value) = (builder.buffer(ty, Access::Write), builder.binary(op, a, b));
        builder.store(result, value);
    }
    builder.finish()
}

fn assert_right(case: &Case, executable: &dyn Executable, ty: Type, operands: &[Operands], context: &str) {
    let results = case.run(executable, None);
    let expected = |position: usize| bytes(ty, operands.iter().map(|&both| expected(ty, both)[position]));
    for (position, found) in results.iter().filter(|bytes| !bytes.is_empty()).enumerate() {
        let wanted = expected(position);
        let size = ty.size_bytes();
        let wrong = found.chunks(size).zip(wanted.chunks(size)).position(|(found, wanted)| found != wanted);
        let operation = ["quotient", "remainder"][position];
        assert_eq!(wrong.map(|lane| operands[lane]), None, "{operation} of {ty}, {context}");
    }
}

/// Divides in lanes that have operands of their own.
fn check_in_lanes(ty: Type, operands: &[Operands], target: &Target) {
    let kernel = kernel(ty, |builder| {
        let divisors = builder.buffer(ty, Access::Read);
        builder.load(divisors)
    });
    let executable = compile_for(&kernel, CodeOptions::default(), target).unwrap();
    let (dividends, divisors) = (operands.iter().map(|&(a, _)| a), operands.iter().map(|&(_, b)| b));
    let empty = vec![0; operands.len() * ty.size_bytes()];
    let inputs = [bytes(ty, dividends), bytes(ty, divisors), empty.clone(), empty].map(Input::Buffer);
    let case = Case { seed: 0, kernel, width: operands.len(), inputs: inputs.into() };
    let context = format!("on {} with {:?} packets", target.cpu, target.interleave);
    assert_right(&case, &executable, ty, operands, &context);
}

/// Divides by numbers that all lanes share.
fn check_shared(ty: Type, divisors: &[i64], dividends: impl Fn(i64) -> Vec<i64>, target: &Target) {
    let kernel = kernel(ty, |builder| {
        let divisor = builder.scalar_param(ty);
        builder.scalar(divisor)
    });
    let executable = compile_for(&kernel, CodeOptions::default(), target).unwrap();
    for &divisor in divisors {
        let dividends = dividends(divisor);
        let operands: Vec<Operands> = dividends.iter().map(|&a| (a, divisor)).collect();
        let empty = Input::Buffer(vec![0; operands.len() * ty.size_bytes()]);
        let given = Input::Buffer(bytes(ty, dividends.into_iter()));
        let inputs = vec![given, Input::Scalar(divisor as u64 & ty.bit_mask()), empty.clone(), empty];
        let case = Case { seed: 0, kernel: kernel.clone(), width: operands.len(), inputs };
        let context = format!("on {} with {:?} packets, by a shared number", target.cpu, target.interleave);
        assert_right(&case, &executable, ty, &operands, &context);
    }
}

fn all(ty: Type) -> impl Iterator<Item = i64> + Clone {
    let first = if ty.is_signed_integer() { -1 << (ty.bits() - 1) } else { 0 };
    first..first + (1 << ty.bits())
}

#[test]
fn all_quotients_of_bytes_are_exact() {
    for ty in [Type::U8, Type::I8] {
        let operands: Vec<Operands> = all(ty).flat_map(|a| all(ty).map(move |b| (a, b))).collect();
        for target in variants() {
            check_in_lanes(ty, &operands, &target);
        }
    }
}

#[test]
fn all_quotients_of_bytes_by_a_shared_number_are_exact() {
    for (ty, numbers) in [(Type::U32, Type::U8), (Type::I32, Type::I8), (Type::U8, Type::U8), (Type::I8, Type::I8)] {
        let numbers: Vec<i64> = all(numbers).collect();
        for target in variants() {
            check_shared(ty, &numbers, |_| numbers.clone(), &target);
        }
    }
}

/// The first and the last dividend of each quotient by a positive number, up to a limit.
fn edges(divisor: i64, limit: i64) -> impl Iterator<Item = i64> {
    let each = move |quotient| [quotient * divisor, (quotient + 1) * divisor - 1];
    (0..=limit / divisor).flat_map(each).map(move |dividend| dividend.min(limit))
}

#[test]
fn all_quotients_of_16_bits_are_exact() {
    for ty in [Type::U16, Type::I16] {
        let limit = i64::from(u16::MAX) >> u32::from(ty.is_signed_integer());
        let mut operands: Vec<Operands> =
            (1..=limit).flat_map(|b| edges(b, limit).map(move |a| (a, b))).chain((0..=limit).map(|a| (a, 0))).collect();
        if ty.is_signed_integer() {
            let signs = |&(a, b): &Operands| [(a, b), (-a, b), (a, -b), (-a, -b)];
            operands = operands.iter().flat_map(signs).collect();
            operands.extend((1..=limit).flat_map(|b| [(-limit - 1, b), (-limit - 1, -b)]));
            operands.extend([0, 1, limit, -1, -limit - 1].map(|a| (a, -limit - 1)));
        }
        for target in targets() {
            check_in_lanes(ty, &operands, &target);
        }
    }
}

const LARGEST: i64 = u32::MAX as i64;

/// The edges of the first and the last quotients, and of some between them: errors grow with the dividend.
fn edges_of_words(divisor: i64, limit: i64) -> Vec<i64> {
    if divisor == 0 {
        return vec![0, 1, limit - 1, limit];
    }
    let last = limit / divisor;
    let few = (0..=last.min(4)).chain((last - 24).max(0)..=last);
    let between = (0..32).map(|bit| last >> bit);
    let each = |quotient| [quotient * divisor, (quotient + 1) * divisor - 1];
    few.chain(between).flat_map(each).map(|dividend: i64| dividend.min(limit)).collect()
}

/// Small numbers, some near powers of two, and random ones of all magnitudes.
fn divisors(limit: i64) -> impl Iterator<Item = i64> {
    let mut rng = Rng::new(7);
    let near_powers = (1..33).flat_map(|bit| (-2..=2).map(move |distance| (1_i64 << bit) + distance));
    let random = (0..2000).map(move |_| (rng.bits() >> (32 + rng.below(24))) as i64);
    (0..1200).chain(near_powers).chain(random).filter(move |number| (0..=limit).contains(number))
}

#[test]
fn quotients_of_words_by_a_shared_number_are_exact_at_their_edges() {
    let divisors: Vec<i64> = divisors(LARGEST).collect();
    for target in targets() {
        check_shared(Type::U32, &divisors, |divisor| edges_of_words(divisor, LARGEST), &target);
    }
}

#[test]
fn quotients_of_words_in_lanes_are_exact_at_their_edges() {
    for (ty, limit) in [(Type::U32, LARGEST), (Type::I32, LARGEST / 2)] {
        let operands = divisors(limit).flat_map(|b| edges_of_words(b, limit).into_iter().map(move |a| (a, b)));
        let mut operands: Vec<Operands> = operands.collect();
        if ty.is_signed_integer() {
            let signs = |&(a, b): &Operands| [(a, b), (-a, b), (a, -b), (-a, -b), (-limit - 1, b), (-limit - 1, -b)];
            operands = operands.iter().flat_map(signs).collect();
        }
        for target in targets() {
            check_in_lanes(ty, &operands, &target);
        }
    }
}
