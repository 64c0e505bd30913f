//! Compares intervals with brute force: every value that an operation returns for operands in their intervals is in the
//! result's.

use crate::backend::llvm::interval::{Arithmetic, Host, Integer, Interval};
use crate::ir::random::Rng;
use crate::ir::{BinaryOp, Type, scalar};

type Ends = Interval<i64>;
type Transfer = fn(Integer, Ends, Ends) -> Ends;

const SIGNS: [bool; 2] = [true, false];

/// The operations on two values.
const TRANSFERS: [(BinaryOp, Transfer); 9] = [
    (BinaryOp::Add, |ty, a, b| Host.sum(ty, a, b)),
    (BinaryOp::Sub, |ty, a, b| Host.difference(ty, a, b)),
    (BinaryOp::Mul, |ty, a, b| Host.product(ty, a, b)),
    (BinaryOp::Rem, |ty, a, b| Host.remainder(ty, a, b)),
    (BinaryOp::And, |ty, a, b| Host.conjunction(ty, a, b)),
    (BinaryOp::Or, |ty, a, b| Host.disjunction(ty, a, b)),
    (BinaryOp::Xor, |ty, a, b| Host.disjunction(ty, a, b)),
    (BinaryOp::Min, |_, a, b| Host.minimum(a, b)),
    (BinaryOp::Max, |_, a, b| Host.maximum(a, b)),
];

fn ends(least: i64, most: i64) -> Ends {
    Interval { least, most }
}

fn intervals(all: &[i64]) -> impl Iterator<Item = Ends> {
    all.iter().enumerate().flat_map(|(at, &least)| all[at..].iter().map(move |&most| ends(least, most)))
}

/// A number modulo the range of a type.
fn wrapped(ty: Integer, number: i64) -> i64 {
    let unused = 64 - ty.bits;
    if ty.is_signed { number << unused >> unused } else { ((number as u64) << unused >> unused) as i64 }
}

/// The result of an operation, of a type of up to 16 bits.
fn result(op: BinaryOp, ty: Integer, a: i64, b: i64) -> i64 {
    wrapped(
        ty,
        match op {
            BinaryOp::Add => a + b,
            BinaryOp::Sub => a - b,
            BinaryOp::Mul => a * b,
            BinaryOp::Div if b == 0 => -1,
            BinaryOp::Div => a / b,
            BinaryOp::Rem if b == 0 => a,
            BinaryOp::Rem => a % b,
            BinaryOp::And => a & b,
            BinaryOp::Or => a | b,
            BinaryOp::Xor => a ^ b,
            BinaryOp::Min => a.min(b),
            BinaryOp::Max => a.max(b),
            BinaryOp::Shr => a >> b,
            _ => unreachable!("no interval has it"),
        },
    )
}

/// The real types are large; small ones behave in the same way.
fn eight_bits(is_signed: bool) -> (Integer, Type) {
    (Integer { bits: 8, is_signed }, if is_signed { Type::I8 } else { Type::U8 })
}

#[test]
fn small_types_compute_as_the_types_of_kernels() {
    for (ty, real) in SIGNS.map(eight_bits) {
        assert_eq!(ty, Integer::of(real));
        for op in TRANSFERS.map(|(op, _)| op).into_iter().chain([BinaryOp::Div]) {
            let function = scalar::binary_function(op, real).unwrap();
            for (a, b) in (ty.least()..=ty.most()).flat_map(|a| (ty.least()..=ty.most()).map(move |b| (a, b))) {
                let expected = wrapped(ty, function(a as u64 & 0xff, b as u64 & 0xff) as i64);
                assert_eq!(result(op, ty, a, b), expected, "{op:?} {real} {a} {b}");
            }
        }
    }
}

/// Compares an operation on all pairs of intervals between some numbers with its results for each pair of values.
fn check_pairs(op: BinaryOp, transfer: Transfer, ty: Integer, numbers: &[i64]) {
    let values: Vec<i64> = (ty.least()..=ty.most()).collect();
    let at = |number: i64| (number - ty.least()) as usize;
    for (position, &least) in numbers.iter().enumerate() {
        // For each second operand, the results for the first ones so far.
        let mut given = vec![ends(i64::MAX, i64::MIN); values.len()];
        let mut next = least;
        for &most in &numbers[position..] {
            for a in next..=most {
                for (given, &b) in given.iter_mut().zip(&values) {
                    let result = result(op, ty, a, b);
                    *given = ends(given.least.min(result), given.most.max(result));
                }
            }
            next = most + 1;
            for (position, &start) in numbers.iter().enumerate() {
                let (mut all, mut from) = (ends(i64::MAX, i64::MIN), start);
                for &end in &numbers[position..] {
                    all = given[at(from)..=at(end)].iter().fold(all, |all, given| Host.either(all, *given));
                    from = end + 1;
                    let found = transfer(ty, ends(least, most), ends(start, end));
                    assert!(
                        found.least <= all.least && all.most <= found.most,
                        "{op:?} of {ty:?}: {least}..={most} and {start}..={end} give {all:?}, not in {found:?}"
                    );
                    assert!(ty.least() <= found.least && found.most <= ty.most(), "{op:?} leaves {ty:?}: {found:?}");
                }
            }
        }
    }
}

#[test]
fn all_pairs_of_intervals_of_four_bits() {
    for (op, transfer) in TRANSFERS {
        for ty in SIGNS.map(|is_signed| Integer { bits: 4, is_signed }) {
            check_pairs(op, transfer, ty, &(ty.least()..=ty.most()).collect::<Vec<_>>());
        }
    }
}

#[test]
fn pairs_of_intervals_of_eight_bits_between_corners() {
    for (op, transfer) in TRANSFERS {
        for (ty, _) in SIGNS.map(eight_bits) {
            let near = [-128, -127, -65, -64, -3, -1, 0, 1, 2, 7, 8, 63, 64, 100, 126, 127, 128, 129, 200, 254, 255];
            let numbers: Vec<i64> = near.into_iter().filter(|n| (ty.least()..=ty.most()).contains(n)).collect();
            check_pairs(op, transfer, ty, &numbers);
        }
    }
}

#[test]
#[ignore = "takes minutes"]
fn all_pairs_of_intervals_of_eight_bits() {
    for (op, transfer) in TRANSFERS {
        for (ty, _) in SIGNS.map(eight_bits) {
            check_pairs(op, transfer, ty, &(ty.least()..=ty.most()).collect::<Vec<_>>());
        }
    }
}

#[test]
fn quotients_and_shifts_of_all_intervals_by_all_constants() {
    for ty in [4, 7].into_iter().flat_map(|bits| SIGNS.map(|is_signed| Integer { bits, is_signed })) {
        let all: Vec<i64> = (ty.least()..=ty.most()).collect();
        for a in intervals(&all) {
            for divisor in 1..=ty.most() {
                let found = Host.quotient(ty, a, divisor);
                let expected = |a| result(BinaryOp::Div, ty, a, divisor);
                assert_eq!(found, ends(expected(a.least), expected(a.most)), "both ends are values");
                assert!(
                    (a.least..=a.most).all(|a| (found.least..=found.most).contains(&expected(a))),
                    "{a:?} / {divisor}"
                );
            }
            for count in 0..ty.bits {
                let found = Host.shifted_right(ty, a, count);
                let expected = |a| result(BinaryOp::Shr, ty, a, count.into());
                assert_eq!(found, ends(expected(a.least), expected(a.most)), "both ends are values");
                assert!(
                    (a.least..=a.most).all(|a| (found.least..=found.most).contains(&expected(a))),
                    "{a:?} >> {count}"
                );
            }
        }
    }
}

#[test]
fn conversions_of_all_intervals() {
    let types: Vec<Integer> =
        [1, 4, 6].into_iter().flat_map(|bits| SIGNS.map(|is_signed| Integer { bits, is_signed })).collect();
    for (&from, &to) in types.iter().flat_map(|from| types.iter().map(move |to| (from, to))) {
        for a in intervals(&(from.least()..=from.most()).collect::<Vec<_>>()) {
            let found = Host.converted(from, to, a);
            for value in a.least..=a.most {
                let value = wrapped(to, value);
                assert!((found.least..=found.most).contains(&value), "{a:?} of {from:?} to {to:?}: {found:?}");
            }
            if to.least() <= a.least && a.most <= to.most() {
                assert_eq!(found, a, "nothing is lost in {to:?}");
            }
        }
    }
}

#[test]
fn one_value_or_the_other() {
    let numbers: Vec<i64> = (-4..4).collect();
    for (a, b) in intervals(&numbers).flat_map(|a| intervals(&numbers).map(move |b| (a, b))) {
        let found = Host.either(a, b);
        let inside = |value| (found.least..=found.most).contains(&value);
        assert!((a.least..=a.most).chain(b.least..=b.most).all(inside), "{a:?} {b:?}");
    }
}

#[test]
fn counters_of_all_intervals_of_first_values_and_limits() {
    for ty in SIGNS.map(|is_signed| Integer { bits: 4, is_signed }) {
        let all: Vec<i64> = (ty.least()..=ty.most()).collect();
        for (first, limit) in intervals(&all).flat_map(|a| intervals(&all).map(move |b| (a, b))) {
            let found = Host.counter(ty, first, limit);
            for (start, end) in (first.least..=first.most).flat_map(|a| (limit.least..=limit.most).map(move |b| (a, b)))
            {
                let mut state = start;
                while state < end {
                    assert!((found.least..=found.most).contains(&state), "{first:?} to {limit:?}: {state}");
                    state = wrapped(ty, state + 1);
                }
            }
        }
    }
}

/// Random numbers near values at which 64-bit arithmetic changes.
fn corner(rng: &mut Rng) -> i128 {
    let near = [0, 1 << 20, 1 << 30, 1 << 31, 1 << 32, 1 << 61, 1 << 62, 1 << 63, 1_i128 << 64];
    let number = rng.choose(&near) + rng.below(7) as i128 - 3;
    let number = if rng.one_in(4) { i128::from(rng.bits() >> rng.below(64)) } else { number };
    if rng.one_in(2) { -number } else { number }
}

/// An interval of values of a type, as words, with some of the values.
fn wide_interval(rng: &mut Rng, ty: Type) -> (Ends, Vec<i128>) {
    let signed = ty.is_signed_integer();
    let most = if signed { i128::from(u64::MAX >> (65 - ty.bits())) } else { i128::from(ty.bit_mask()) };
    let least = if signed { -most - 1 } else { 0 };
    let mut numbers: Vec<i128> = (0..4).map(|_| corner(rng).clamp(least, most)).collect();
    numbers.sort_unstable();
    let word = |number: i128| number.min(i64::MAX.into()) as i64;
    (ends(word(numbers[0]), word(numbers[3])), numbers)
}

/// Whether an interval of a type contains the value of a carrier.
fn contains(interval: Ends, ty: Type, bits: u64) -> bool {
    let unused = 64 - ty.bits();
    let value = if ty.is_signed_integer() { i128::from((bits << unused) as i64 >> unused) } else { bits.into() };
    let has_end = ty != Type::U64 || interval.most != i64::MAX;
    i128::from(interval.least) <= value && (!has_end || value <= interval.most.into())
}

const WIDE: [Type; 4] = [Type::I32, Type::U32, Type::I64, Type::U64];

#[test]
fn wide_types_at_the_ends_of_words() {
    let mut rng = Rng::new(1);
    for _ in 0..200_000 {
        let ty = rng.choose(&WIDE);
        let integer = Integer::of(ty);
        let ((a, a_values), (b, b_values)) = (wide_interval(&mut rng, ty), wide_interval(&mut rng, ty));
        for (op, transfer) in TRANSFERS {
            let (found, function) = (transfer(integer, a, b), scalar::binary_function(op, ty).unwrap());
            for (&x, &y) in a_values.iter().flat_map(|x| b_values.iter().map(move |y| (x, y))) {
                let result = function(x as u64 & ty.bit_mask(), y as u64 & ty.bit_mask());
                assert!(contains(found, ty, result), "{op:?} {ty}: {x} in {a:?}, {y} in {b:?}: not in {found:?}");
            }
        }
        let divisor = rng.choose(&[1, 2, 3, 1 << 20, 1 << 31, i64::MAX - 1]).min(integer.most());
        let count = rng.below(ty.bits() as usize) as u32;
        let (quotient, shifted) = (Host.quotient(integer, a, divisor), Host.shifted_right(integer, a, count));
        let divide = scalar::binary_function(BinaryOp::Div, ty).unwrap();
        let shift = scalar::binary_function(BinaryOp::Shr, ty).unwrap();
        for &x in &a_values {
            let x = x as u64 & ty.bit_mask();
            assert!(contains(quotient, ty, divide(x, divisor as u64)), "{a:?} {ty} / {divisor}");
            assert!(contains(shifted, ty, shift(x, count.into())), "{a:?} {ty} >> {count}");
        }
        let to = rng.choose(&WIDE);
        let converted = Host.converted(integer, Integer::of(to), a);
        for &x in &a_values {
            let result = scalar::cast(ty, to, x as u64 & ty.bit_mask());
            assert!(contains(converted, to, result), "{x} in {a:?} of {ty} to {to}: not in {converted:?}");
        }
        let counter = Host.counter(integer, a, b);
        for (&first, &limit) in a_values.iter().flat_map(|x| b_values.iter().map(move |y| (x, y))) {
            for state in [first, limit - 1].into_iter().filter(|_| first < limit) {
                assert!(contains(counter, ty, state as u64 & ty.bit_mask()), "{a:?} to {b:?} of {ty}");
            }
        }
    }
}

/// The property that the proofs of ordinary indices rely on.
#[test]
fn intervals_are_as_narrow_as_indices_need() {
    let (i32, u32) = (Integer::of(Type::I32), Integer::of(Type::U32));
    let (lanes, any) = (ends(0, 999), ends(i32.least(), i32.most()));
    assert_eq!(Host.sum(i32, lanes, ends(-3, 5)), ends(-3, 1004));
    assert_eq!(Host.difference(u32, ends(5, 9), ends(1, 2)), ends(3, 8));
    assert_eq!(Host.product(i32, lanes, ends(-2, 3)), ends(-1998, 2997));
    assert_eq!(Host.conjunction(i32, any, ends(255, 255)), ends(0, 255));
    assert_eq!(Host.disjunction(u32, ends(0, 4), ends(1, 1)), ends(0, 7));
    assert_eq!(Host.remainder(u32, ends(0, u32.most()), ends(10, 10)), ends(0, 9));
    assert_eq!(Host.remainder(i32, any, ends(1, 10)), ends(-9, 9));
    assert_eq!(Host.remainder(u32, lanes, ends(0, 10)), lanes, "the remainder by zero is the dividend");
    assert_eq!(Host.converted(u32, i32, lanes), lanes);
    assert_eq!(Host.counter(i32, ends(0, 0), ends(7, 9)), ends(0, 8));
    let (i64, u64) = (Integer::of(Type::I64), Integer::of(Type::U64));
    assert_eq!(Host.sum(i64, lanes, ends(1 << 40, 1 << 40)), ends(1 << 40, 999 + (1 << 40)));
    assert_eq!(Host.difference(u64, ends(5, 9), ends(1, 2)), ends(3, 8));
    assert_eq!(Host.product(u64, lanes, lanes), ends(0, 998_001));
    assert_eq!(Host.shifted_right(u64, ends(0, i64::MAX), 40), ends(0, (1 << 24) - 1));
}
