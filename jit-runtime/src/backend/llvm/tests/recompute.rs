//! Long chains whose values are used in the opposite order: computed again, with the same bits.

use super::super::analysis::Analysis;
use super::super::recompute::Recompute;
use super::*;
use crate::backend::Effort;
use crate::ir::random::Options;
use crate::ir::{Access, BinaryOp, Builder, CompareOp, Kernel, TOP, Type, UnaryOp, Value};

/// How a value follows from the one before it and the start of the chain.
type Step = fn(&mut Builder, Value, Value) -> Value;

fn product(b: &mut Builder, value: Value, start: Value) -> Value {
    b.binary(BinaryOp::Mul, value, start)
}

fn difference_or_start(b: &mut Builder, value: Value, start: Value) -> Value {
    let less = b.compare(CompareOp::Lt, value, start);
    let difference = b.binary(BinaryOp::Sub, value, start);
    b.select(less, start, difference)
}

fn bits(b: &mut Builder, value: Value, start: Value) -> Value {
    let sum = b.binary(BinaryOp::Add, value, start);
    let negated = b.unary(UnaryOp::Not, sum);
    b.binary(BinaryOp::Xor, negated, start)
}

fn root(b: &mut Builder, value: Value, start: Value) -> Value {
    let root = b.unary(UnaryOp::Sqrt, value);
    b.binary(BinaryOp::Add, root, start)
}

/// A chain of a type, and the differences of its values, the last value first.
fn there_and_back(ty: Type, length: usize, step: Step) -> Kernel {
    let mut b = Builder::new();
    let (x, y) = (b.buffer(ty, Access::Read), b.buffer(ty, Access::Write));
    let start = b.load(x);
    let mut chain = vec![start];
    for _ in 0..length {
        let last = chain[chain.len() - 1];
        chain.push(step(&mut b, last, start));
    }
    let result = chain.into_iter().rev().reduce(|sum, value| b.binary(BinaryOp::Sub, value, sum)).unwrap();
    b.store(y, result);
    b.finish()
}

fn plan(kernel: &Kernel, target: &Target, packets: usize) -> Recompute {
    Recompute::of(kernel, &Analysis::new(kernel, packets * target.lanes), target, packets)
}

/// The number of instructions that are executed again.
fn executed_again(kernel: &Kernel, target: &Target, packets: usize) -> usize {
    let plan = plan(kernel, target, packets);
    (0..kernel.region(TOP).insts.len()).map(|position| plan.before(kernel, position).count()).sum()
}

#[test]
fn cheap_values_of_long_chains_are_computed_again_once_each() {
    let target = Target::new(Architecture::X86_64, "x86-64-v3".into(), "+sse4.2,+avx2,+fma".into());
    let again = |length, step| executed_again(&there_and_back(Type::F32, length, step), &target, 4);
    assert_eq!(again(100, product), 0, "the nearest cache holds them");
    assert_eq!(again(1000, root), 0, "roots are expensive");
    let count = again(1000, product);
    assert!((850..=1000).contains(&count), "{count} of 1000 products");
}

#[test]
fn values_in_the_order_of_their_computation_are_not_computed_again() {
    let target = Target::new(Architecture::X86_64, "x86-64-v3".into(), "+sse4.2,+avx2,+fma".into());
    let mut b = Builder::new();
    let (x, y) = (b.buffer(Type::F32, Access::Read), b.buffer(Type::F32, Access::Write));
    let start = b.load(x);
    let (mut value, mut sum) = (start, start);
    for _ in 0..2000 {
        value = product(&mut b, value, start);
        sum = b.binary(BinaryOp::Sub, value, sum);
    }
    b.store(y, sum);
    assert_eq!(executed_again(&b.finish(), &target, 4), 0);
}

#[test]
fn what_is_computed_again_has_the_same_bits() {
    let cases: [(Type, Step); 7] = [
        (Type::F32, product),
        (Type::F64, product),
        (Type::F32, difference_or_start),
        (Type::I32, difference_or_start),
        (Type::U32, bits),
        (Type::I64, bits),
        (Type::F32, root),
    ];
    let thorough = CodeOptions { effort: Effort::Thorough, ..CodeOptions::default() };
    for ((ty, step), packets) in cases.into_iter().zip([4, 2].into_iter().cycle()) {
        let kernel = there_and_back(ty, 700, step);
        let bytes: Vec<u8> = (0..67 * ty.size_bytes()).map(|byte| (byte * 37 % 251) as u8).collect();
        let inputs = vec![Input::Buffer(bytes.clone()), Input::Buffer(bytes)];
        let case = Case { seed: 0, kernel, width: 67, inputs };
        // Values are computed again where several packets compete for registers.
        for target in targets() {
            let target = target.with_interleave(packets);
            check(&case, &target, thorough).unwrap_or_else(|error| panic!("{ty:?}: {error}"));
        }
    }
}

#[test]
fn long_random_expressions_have_the_same_bits_when_their_packets_advance_together() {
    let options = Options { operations: 400, ..Options::expressions() };
    let thorough = CodeOptions { effort: Effort::Thorough, ..CodeOptions::default() };
    for seed in 0..6 {
        let case = Case::new(seed, &options);
        for target in variants() {
            check(&case, &target, thorough).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
    }
}
