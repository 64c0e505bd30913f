//! Integers whose lanes are near each other: quotients and remainders by every small number, and random programs of
//! such integers, with starts that are negative or wrap around, on memory that may be too short.

use super::*;
use crate::backend::llvm::analysis::Analysis;
use crate::backend::llvm::near::{Way, divide_small};
use crate::ir::random::Rng;
use crate::ir::{Access, BinaryOp, Builder, CompareOp, Op, Type, Value};

const WIDTH: usize = 331;
const INDEX_TYPES: [Type; 4] = [Type::U32, Type::I32, Type::U64, Type::I64];
const ELEMENT_TYPES: [Type; 6] = [Type::F32, Type::U8, Type::F64, Type::Bool, Type::I16, Type::U64];

fn check_on_every_target(case: &Case) {
    for target in variants() {
        let checked = check(case, &target, CodeOptions::default());
        checked.unwrap_or_else(|error| panic!("seed {}: {error}\n{}", case.seed, case.kernel));
    }
}

/// Bytes of some elements: truth values if the type has no others.
fn elements(rng: &mut Rng, ty: Type, count: usize) -> Input {
    let mask = if ty == Type::Bool { 1 } else { 0x3f };
    Input::Buffer((0..count * ty.size_bytes()).map(|_| rng.bits() as u8 & mask).collect())
}

/// What a kernel gathers at an index from memory of some elements, and the index itself.
struct Gathers {
    builder: Builder,
    inputs: Vec<Input>,
    rng: Rng,
}

impl Gathers {
    fn new(seed: u64) -> Gathers {
        Gathers { builder: Builder::new(), inputs: Vec::new(), rng: Rng::new(seed) }
    }

    fn gather(&mut self, ty: Type, count: usize, index: Value, mask: Option<Value>) {
        let [table, result] = [Access::Read, Access::Write].map(|access| self.builder.buffer(ty, access));
        let element = self.builder.gather(table, index, mask);
        self.builder.store(result, element);
        self.inputs.extend([count, WIDTH].map(|count| elements(&mut self.rng, ty, count)));
    }

    fn store(&mut self, ty: Type, value: Value) {
        let result = self.builder.buffer(ty, Access::Write);
        self.builder.store(result, value);
        self.inputs.push(elements(&mut self.rng, ty, WIDTH));
    }

    fn finish(self, seed: u64) -> Case {
        Case { seed, kernel: self.builder.finish(), width: WIDTH, inputs: self.inputs }
    }
}

/// Rows and columns of a matrix with so many columns, of a type, from a lane on; memory as long as it must be, and one
/// element shorter.
fn rows_and_columns(columns: u64, ty: Type, first: u64) -> Case {
    let mut gathers = Gathers::new(columns);
    let lane = gathers.builder.lane_index();
    let [first_value, columns_value] = [first, columns].map(|number| gathers.builder.constant(ty, number));
    let lane = gathers.builder.cast(ty, lane);
    let lane = if first == 0 { lane } else { gathers.builder.binary(BinaryOp::Add, lane, first_value) };
    let [row, column] = [BinaryOp::Div, BinaryOp::Rem].map(|op| gathers.builder.binary(op, lane, columns_value));
    let rows = (WIDTH as u64 + first).div_ceil(columns) as usize;
    let element = ELEMENT_TYPES[columns as usize % ELEMENT_TYPES.len()];
    gathers.gather(Type::F32, columns as usize, column, None);
    gathers.gather(Type::F32, rows, row, None);
    gathers.gather(element, columns as usize - 1, column, None);
    gathers.gather(element, rows - 1, row, None);
    gathers.store(ty, row);
    gathers.store(ty, column);
    gathers.finish(columns)
}

#[test]
fn rows_and_columns_of_every_narrow_matrix() {
    for columns in 2..=66 {
        check_on_every_target(&rows_and_columns(columns, INDEX_TYPES[columns as usize % 4], columns % 3 * 5));
    }
    for columns in [100, 1 << 10, (1 << 16) + 1] {
        check_on_every_target(&rows_and_columns(columns, Type::U32, 7));
    }
}

#[test]
fn small_numbers_are_divided_by_a_product_of_32_bits() {
    for divisor in 2..=130_u64 {
        for most in [divisor, 2 * divisor, 100, 1000, 32_767] {
            let Some(Way::Product(factor, count)) = divide_small(divisor, most) else { panic!("{divisor}, {most}") };
            for number in 0..=most {
                let product = u32::try_from(number * factor).expect("it fits");
                assert_eq!(u64::from(product >> count), number / divisor, "{number} / {divisor}");
            }
        }
    }
    for divisor in [1000, 16_383, 32_767] {
        let Some(Way::Product(factor, count)) = divide_small(divisor, 32_767) else { panic!("{divisor}") };
        (0..=32_767_u64).for_each(|number| assert_eq!((number * factor) >> count, number / divisor));
    }
}

/// A random integer that is near in most programs.
fn random_index(gathers: &mut Gathers, ty: Type, steps: usize) -> Value {
    let lane = gathers.builder.lane_index();
    let mut value = gathers.builder.cast(ty, lane);
    for _ in 0..steps {
        value = random_step(gathers, ty, value);
    }
    value
}

fn random_step(gathers: &mut Gathers, ty: Type, value: Value) -> Value {
    use BinaryOp::{Add, And, Div, Min, Mul, Rem, Shl, Shr, Sub};
    if gathers.rng.one_in(4) {
        return random_choice(gathers, ty, value);
    }
    let rng = &mut gathers.rng;
    let largest = ty.bit_mask() >> u32::from(ty.is_signed_integer());
    let small = rng.below(40) as u64;
    let number = match rng.below(10) {
        0 => small.wrapping_neg(),
        1 => largest.wrapping_sub(small * 3),
        _ => small + 1,
    } & ty.bit_mask();
    let (op, number) = match rng.below(14) {
        0..3 => (Rem, number),
        3..6 => (Div, number),
        6 => (And, (1 << rng.below(7)) - 1),
        7 => (rng.choose(&[Shr, Shl]), rng.below(5) as u64),
        8 => (Mul, small % 5 + 1),
        9 => (Min, number),
        10 | 11 => (Sub, number),
        _ => (Add, number),
    };
    let (is_reversed, is_passed) = (op == Sub && rng.one_in(2), matches!(op, Add | Sub) && rng.one_in(2));
    let number = if is_passed {
        gathers.inputs.push(Input::Scalar(number));
        let param = gathers.builder.scalar_param(ty);
        gathers.builder.scalar(param)
    } else {
        gathers.builder.constant(ty, number)
    };
    match is_reversed {
        true => gathers.builder.binary(op, number, value),
        false => gathers.builder.binary(op, value, number),
    }
}

/// One of two numbers that are computed from another one, or its bits in two parts.
fn random_choice(gathers: &mut Gathers, ty: Type, value: Value) -> Value {
    use BinaryOp::{Add, And, Max, Min, Mul, Or, Sub};
    let small = |gathers: &mut Gathers| {
        let number = gathers.rng.below(20) as u64;
        gathers.builder.constant(ty, number)
    };
    let way = gathers.rng.below(5);
    if way == 4 {
        let low = (1_u64 << gathers.rng.below(6)) - 1;
        let [low, high] = [low, !low & ty.bit_mask()].map(|mask| gathers.builder.constant(ty, mask));
        let [rest, multiple] = [low, high].map(|mask| gathers.builder.binary(And, value, mask));
        let reversed = gathers.builder.binary(Sub, low, rest);
        let rest = gathers.rng.choose(&[rest, reversed, multiple]);
        return gathers.builder.binary(Or, multiple, rest);
    }
    let arm = |gathers: &mut Gathers| {
        let (number, factor) = (small(gathers), small(gathers));
        let value = if gathers.rng.one_in(4) { gathers.builder.binary(Mul, value, factor) } else { value };
        let op = gathers.rng.choose(&[Add, Sub]);
        gathers.builder.binary(op, value, number)
    };
    let (a, b) = (arm(gathers), arm(gathers));
    match way {
        0 => gathers.builder.binary(Min, a, b),
        1 => gathers.builder.binary(Max, a, b),
        _ => {
            let (number, count) = (small(gathers), small(gathers));
            let rest = gathers.builder.binary(BinaryOp::Rem, value, count);
            let mask = gathers.builder.compare(CompareOp::Lt, rest, number);
            gathers.builder.select(mask, a, b)
        }
    }
}

/// Lanes that read elements before or after their own, in groups of some lanes.
fn exchange(count: u64, ty: Type, first: u64) -> Case {
    let mut gathers = Gathers::new(count);
    let lane = gathers.builder.lane_index();
    let lane = gathers.builder.cast(ty, lane);
    let number = |gathers: &mut Gathers, number: u64| gathers.builder.constant(ty, number & ty.bit_mask());
    let [first, count_value] = [first, count].map(|value| number(&mut gathers, value));
    let lane = gathers.builder.binary(BinaryOp::Add, lane, first);
    let rest = gathers.builder.binary(BinaryOp::Rem, lane, count_value);
    for (a, b) in [(0, 1), (-1, 1), (-2, 3), (5, -7), (40, -10), (0, 300)] {
        let element = ELEMENT_TYPES[(count as usize + a as usize % 6) % ELEMENT_TYPES.len()];
        let [a, b] = [a, b].map(|distance: i64| number(&mut gathers, distance as u64));
        let [a, b] = [a, b].map(|distance| gathers.builder.binary(BinaryOp::Add, lane, distance));
        let half = number(&mut gathers, count / 2);
        let mask = gathers.builder.compare(CompareOp::Lt, rest, half);
        let chosen = gathers.builder.select(mask, a, b);
        let smaller = gathers.builder.binary(BinaryOp::Min, chosen, lane);
        let larger = gathers.builder.binary(BinaryOp::Max, chosen, lane);
        for index in [chosen, smaller, larger] {
            gathers.gather(element, WIDTH + count as usize % 3 * 8, index, None);
        }
        gathers.store(ty, chosen);
    }
    gathers.finish(count)
}

#[test]
fn elements_that_lanes_of_a_group_exchange() {
    for (count, first) in (1..=12).zip([0_u64, 3, 16, 3_u64.wrapping_neg()].into_iter().cycle()) {
        check_on_every_target(&exchange(count, INDEX_TYPES[(count / 4) as usize], first));
    }
}

fn random_program(seed: u64) -> Case {
    let mut gathers = Gathers::new(seed);
    let ty = gathers.rng.choose(&INDEX_TYPES);
    let steps = 1 + gathers.rng.below(5);
    let mut index = random_index(&mut gathers, ty, steps);
    if gathers.rng.one_in(3) {
        let steps = gathers.rng.below(4);
        let other = random_index(&mut gathers, ty, steps);
        index = gathers.builder.binary(gathers.rng.choose(&[BinaryOp::Add, BinaryOp::Sub]), index, other);
    }
    let mut index_type = ty;
    if gathers.rng.one_in(4) {
        index_type = gathers.rng.choose(&INDEX_TYPES);
        index = gathers.builder.cast(index_type, index);
    }
    let mask = gathers.rng.one_in(4).then(|| {
        let (lane, three) = (gathers.builder.lane_index(), gathers.builder.constant(Type::U32, 3));
        let rest = gathers.builder.binary(BinaryOp::Rem, lane, three);
        let zero = gathers.builder.constant(Type::U32, 0);
        gathers.builder.compare(CompareOp::Ne, rest, zero)
    });
    let (element, count) = (gathers.rng.choose(&ELEMENT_TYPES), gathers.rng.below(150));
    gathers.gather(element, count, index, mask);
    if gathers.rng.one_in(2) {
        gathers.store(index_type, index);
    }
    gathers.finish(seed)
}

fn check_random(seeds: Range<u64>) {
    let (targets, mut are_near) = (variants(), 0);
    for seed in seeds.clone() {
        let case = random_program(seed);
        let Some(target) = targets.get(seed as usize % targets.len().max(1)) else { return };
        let checked = check(&case, target, CodeOptions::default());
        checked.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", case.kernel));
        let analysis = Analysis::new(&case.kernel, 16);
        are_near += u64::from(case.kernel.regions[0].insts.iter().any(|inst| match inst.op {
            Op::Gather { buffer, index, .. } => analysis.near_index(&case.kernel, buffer, index).is_some(),
            _ => false,
        }));
    }
    let all = seeds.end - seeds.start;
    assert!(3 * are_near > all, "only {are_near} of {all} programs gather what is near");
}

#[test]
fn programs_of_indices_that_are_near_each_other() {
    check_random(0..1500);
}

#[test]
#[ignore = "takes minutes; `.ci/nightly` runs it"]
fn many_programs_of_indices_that_are_near_each_other() {
    check_random(10_000..100_000);
}

/// A number that is part of the code or passed to it: small, about as long as rows, negative, or so large that products
/// wrap around.
fn length(gathers: &mut Gathers, ty: Type) -> Value {
    let large = 1_u64 << (ty.bits() - 1 - gathers.rng.below(3) as u32);
    let number = match gathers.rng.below(9) {
        0 => (gathers.rng.below(60) as u64).wrapping_neg(),
        1 => large / 3 + gathers.rng.below(3) as u64,
        2 => large,
        3 => gathers.rng.below(5) as u64,
        _ => gathers.rng.below(130) as u64,
    } & ty.bit_mask();
    if gathers.rng.one_in(2) {
        return gathers.builder.constant(ty, number);
    }
    gathers.inputs.push(Input::Scalar(number));
    let param = gathers.builder.scalar_param(ty);
    gathers.builder.scalar(param)
}

/// Rows that become columns, and the other way round: many of a few elements, and a few of many.
fn transposition(seed: u64) -> Case {
    use BinaryOp::{Add, Div, Mul, Rem, Sub};
    let mut gathers = Gathers::new(seed);
    let ty = gathers.rng.choose(&[Type::U32, Type::U32, Type::I32, Type::U64, Type::I64]);
    let short = 2 + gathers.rng.below(4) as u64;
    let number = if !gathers.rng.one_in(3) { short } else { 20 + gathers.rng.below(100) as u64 };
    let lane = gathers.builder.lane_index();
    let (lane, count) = (gathers.builder.cast(ty, lane), gathers.builder.constant(ty, number));
    let [row, place] = [Rem, Div].map(|op| gathers.builder.binary(op, lane, count));
    let length = length(&mut gathers, ty);
    let numbers = if gathers.rng.one_in(4) { lane } else { row };
    let product = gathers.builder.binary(Mul, numbers, length);
    let index = match gathers.rng.below(4) {
        0 => product,
        1 => gathers.builder.binary(Add, place, product),
        _ => gathers.builder.binary(Add, product, place),
    };
    let moved = gathers.rng.one_in(3).then(|| gathers.builder.constant(ty, 7));
    let op = gathers.rng.choose(&[Add, Sub]);
    let index = moved.map_or(index, |distance| gathers.builder.binary(op, index, distance));
    let (element, count) = (gathers.rng.choose(&ELEMENT_TYPES), gathers.rng.below(1000));
    gathers.gather(element, count, index, None);
    gathers.finish(seed)
}

fn check_transpositions(seeds: Range<u64>) {
    let (targets, [mut rows, mut strides]) = (variants(), [0; 2]);
    for seed in seeds.clone() {
        let case = transposition(seed);
        let Some(target) = targets.get(seed as usize % targets.len().max(1)) else { return };
        let checked = check(&case, target, CodeOptions::default());
        checked.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", case.kernel));
        let general = Analysis::new(&case.kernel, 16);
        let (within, _) = Analysis::within_rows(&case.kernel, 16, 16);
        rows += u64::from(general.near_rows.iter().any(Option::is_some));
        strides += u64::from([general, within].iter().any(|analysis| analysis.strides.iter().any(Option::is_some)));
    }
    let all = seeds.end - seeds.start;
    assert!(16 * rows > all && 4 * strides > all, "of {all} programs only {rows} have few rows, and {strides} strides");
}

#[test]
fn rows_that_become_columns() {
    check_transpositions(0..1500);
}

#[test]
#[ignore = "takes minutes; `.ci/nightly` runs it"]
fn many_rows_that_become_columns() {
    check_transpositions(10_000..100_000);
}
