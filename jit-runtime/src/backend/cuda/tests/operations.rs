//! Every operation on every type, at corner cases.

use super::kernels::{Table, every_operation};
use super::*;
use crate::ir::random::Input;
use crate::ir::{Access, BinaryOp, CompareOp, ReduceOp, Type, UnaryOp};

#[test]
fn every_operation_on_every_type() {
    for (name, case) in every_operation() {
        for target in TARGETS {
            check(&case, target).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

/// Every pair of the values, as two columns.
fn pairs(ty: Type, values: &[u64]) -> [Input; 2] {
    let bytes = |bits: u64| bits.to_le_bytes()[..ty.size_bytes()].to_vec();
    let pairs = || values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b)));
    let first = pairs().flat_map(|(a, _)| bytes(a)).collect();
    [Input::Buffer(first), Input::Buffer(pairs().flat_map(|(_, b)| bytes(b)).collect())]
}

/// Runs all operations on two values that a type has, on every pair of values.
fn check_pairs(ty: Type, values: &[u64]) {
    let mut table = Table::new(1);
    let (a, b) = (table.operand(ty), table.operand(ty));
    table.inputs = pairs(ty, values).into();
    let width = values.len() * values.len();
    let operations = BinaryOp::ALL.iter().filter(|op| op.types().contain(ty) && !op.is_transcendental());
    let mut results: Vec<_> = operations.map(|&op| table.builder.binary(op, a, b)).collect();
    for op in [CompareOp::Eq, CompareOp::Ne, CompareOp::Lt, CompareOp::Le, CompareOp::Gt, CompareOp::Ge] {
        results.push(table.builder.compare(op, a, b));
    }
    for result in results {
        let ty = table.builder.kernel().ty(result);
        let buffer = table.builder.buffer(ty, Access::Write);
        table.inputs.push(Input::Buffer(vec![0; width * ty.size_bytes()]));
        table.builder.store(buffer, result);
    }
    let case = Case { width, ..table.finish(0) };
    for target in TARGETS {
        check(&case, target).unwrap_or_else(|error| panic!("{ty}: {error}"));
    }
}

#[test]
fn all_pairs_of_eight_bits() {
    let values: Vec<u64> = (0..256).collect();
    check_pairs(Type::I8, &values);
    check_pairs(Type::U8, &values);
}

#[test]
fn pairs_of_corner_cases() {
    for ty in Type::ALL.into_iter().filter(|ty| ty.bits() > 8) {
        let mut rng = Rng::new(5);
        let mut values: Vec<u64> = Vec::new();
        // Corner cases are a third of the values, so this finds all of them.
        for value in (0..400).map(|_| rng.value(ty)) {
            if values.len() < 120 && !values.contains(&value) {
                values.push(value);
            }
        }
        check_pairs(ty, &values);
    }
}

/// All halves are few enough to try each operation on each of them.
#[test]
fn all_halves() {
    for ty in [Type::F16, Type::BF16] {
        let mut table = Table::new(3);
        let a = table.operand(ty);
        table.inputs = vec![Input::Buffer((0..=u16::MAX).flat_map(u16::to_le_bytes).collect())];
        let operations = UnaryOp::ALL.iter().filter(|op| op.types().contain(ty) && !op.is_transcendental());
        let mut results: Vec<_> = operations.map(|&op| table.builder.unary(op, a)).collect();
        results.extend(Type::ALL.into_iter().map(|to| table.builder.cast(to, a)));
        let single = table.builder.cast(Type::F32, a);
        let third = table.builder.constant(Type::F32, u64::from((1f32 / 3.0).to_bits()));
        let product = table.builder.binary(BinaryOp::Mul, single, third);
        results.extend([Type::F16, Type::BF16].map(|to| table.builder.cast(to, product)));
        for result in results {
            let ty = table.builder.kernel().ty(result);
            let buffer = table.builder.buffer(ty, Access::Write);
            table.inputs.push(Input::Buffer(vec![0; (1 << 16) * ty.size_bytes()]));
            table.builder.store(buffer, result);
        }
        let case = Case { width: 1 << 16, ..table.finish(0) };
        for target in TARGETS {
            check(&case, target).unwrap_or_else(|error| panic!("{ty}: {error}"));
        }
    }
}

/// The one difference to the interpreter: the instruction for atomic sums of `f32` flushes subnormal numbers.
#[test]
fn atomic_sums_of_singles_flush_subnormal_numbers() {
    let mut table = Table::new(1);
    let value = table.operand(Type::F32);
    let target = table.buffer_of(Type::F32, Access::ReadWrite, 3);
    let lane = table.builder.lane_index();
    table.builder.scatter(Some(ReduceOp::Add), target, lane, value, None);
    let bytes = |values: [f32; 3]| Input::Buffer(values.iter().flat_map(|value| value.to_le_bytes()).collect());
    table.inputs = vec![bytes([1e-40, 1.5, -1e-40]), bytes([0.0, 1e-40, 2.0])];
    let case = Case { width: 3, ..table.finish(0) };
    let actual = case.run(&Emulated::with_sums(AtomicSums::Flushed, &case.kernel, TARGETS[1], 0).unwrap(), None);
    assert_eq!(Input::Buffer(actual[1].clone()), bytes([0.0, 1.5, 2.0]));
    let exact = case.run(&interpreter::prepare(case.kernel.clone()), None);
    assert_eq!(Input::Buffer(exact[1].clone()), bytes([1e-40, 1.5, 2.0]));
}
