//! How many operations of a straight-line kernel do not wait for one another.
//!
//! A processor has several operations of a few cycles each under way. A list in which each operation needs the result
//! of the one before leaves most of that unused, unless the processor finds the next packet, which is beyond its
//! window for lists of some hundred operations. Code for several packets at once has it next to each operation.

use super::analysis::{Analysis, Shape};
use crate::ir::{Inst, Kernel, Op, TOP, for_each_nested_operand};

/// The work of all operations of the top region on lanes, divided by that of the longest chain of them.
pub(super) fn average(kernel: &Kernel, analysis: &Analysis) -> f64 {
    let mut ends = vec![0_u64; kernel.types.len()];
    let (mut work, mut longest) = (0, 0);
    for inst in kernel.region(TOP).insts.iter().filter(|inst| is_by_lane(inst, analysis)) {
        let mut begin = 0;
        for_each_nested_operand(kernel, &inst.op, &mut |value| begin = begin.max(ends[value.index()]));
        let cost = cost(&inst.op);
        inst.values().for_each(|value| ends[value.index()] = begin + cost);
        (work, longest) = (work + cost, longest.max(begin + cost));
    }
    work as f64 / longest.max(1) as f64
}

/// Whether each packet executes the instruction with a vector.
fn is_by_lane(inst: &Inst, analysis: &Analysis) -> bool {
    inst.results == 0 || inst.values().any(|value| analysis.shape(value) == Shape::Varying)
}

/// A rough measure of time, in units of an addition. Memory is not waited for: processors read ahead.
fn cost(op: &Op) -> u64 {
    match *op {
        Op::Load(_) | Op::Store { .. } | Op::Gather { .. } | Op::Scatter { .. } => 0,
        Op::Unary(op, _) => op.cost().into(),
        Op::Binary(op, ..) => op.cost().into(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::llvm::{Target, interleave};
    use crate::backend::target::Architecture;
    use crate::backend::{CodeOptions, Effort};
    use crate::ir::{Access, BinaryOp, Builder, Type, UnaryOp, Value};

    /// Products of this many chains of a load, each of this length, which are added up.
    fn chains(count: usize, length: usize) -> Kernel {
        let mut builder = Builder::new();
        let [x, y] = [Access::Read, Access::Write].map(|access| builder.buffer(Type::F32, access));
        let x = builder.load(x);
        let mut sum = x;
        for chain in 0..count {
            let constant = builder.constant(Type::F32, (chain as f32 + 1.5).to_bits().into());
            let mut value = builder.binary(BinaryOp::Add, x, constant);
            for _ in 1..length {
                value = builder.binary(BinaryOp::Mul, value, x);
            }
            sum = builder.binary(BinaryOp::Add, sum, value);
        }
        builder.store(y, sum);
        builder.finish()
    }

    #[test]
    fn the_parallelism_is_the_work_by_the_longest_chain() {
        for (count, length, wanted) in [(1, 100, 1.0), (4, 99, 3.88), (10, 90, 9.1)] {
            let kernel = chains(count, length);
            let got = average(&kernel, &Analysis::new(&kernel, 16));
            assert!((got - wanted).abs() < 0.05, "{count} chains of {length}: {got}");
        }
    }

    /// The parallelism of a kernel that stores what a function makes of a load.
    fn average_of(record: impl FnOnce(&mut Builder, Value) -> Value) -> f64 {
        let mut builder = Builder::new();
        let [x, y] = [Access::Read, Access::Write].map(|access| builder.buffer(Type::F32, access));
        let x = builder.load(x);
        let value = record(&mut builder, x);
        builder.store(y, value);
        let kernel = builder.finish();
        average(&kernel, &Analysis::new(&kernel, 16))
    }

    #[test]
    fn expensive_operations_are_waited_for_longer() {
        type Record = fn(&mut Builder, Value) -> Value;
        let operations: [(Record, u32); 2] = [
            (|builder, x| builder.unary(UnaryOp::Sqrt, x), UnaryOp::Sqrt.cost()),
            (|builder, x| builder.binary(BinaryOp::Div, x, x), BinaryOp::Div.cost()),
        ];
        for ((record, cost), additions) in operations.into_iter().flat_map(|operation| [(operation, 2), (operation, 9)])
        {
            let got = average_of(|builder, x| {
                let sum = (0..additions).fold(x, |sum, _| builder.binary(BinaryOp::Add, sum, x));
                let other = record(builder, x);
                builder.binary(BinaryOp::Add, sum, other)
            });
            let [work, longest] = [cost + additions + 1, cost.max(additions) + 1].map(f64::from);
            assert_eq!(got, work / longest, "cost {cost}, {additions} additions");
        }
    }

    #[test]
    fn operations_that_run_once_are_not_waited_for() {
        let got = average_of(|builder, x| {
            let param = builder.scalar_param(Type::F32);
            let scalar = builder.scalar(param);
            let power = (0..50).fold(scalar, |power, _| builder.binary(BinaryOp::Mul, power, scalar));
            let sum = (0..10).fold(x, |sum, _| builder.binary(BinaryOp::Add, sum, x));
            builder.binary(BinaryOp::Add, sum, power)
        });
        assert_eq!(got, 1.0);
    }

    #[test]
    fn chains_are_computed_for_as_many_packets_as_fill_the_processor() {
        let target = Target::new(Architecture::X86_64, "x86-64-v3".into(), "+sse4.2,+avx2,+fma".into());
        let packets = |count: usize, length: usize, effort| {
            let options = CodeOptions { effort, ..CodeOptions::default() };
            interleave::choose(&chains(count, length), &target, options)
        };
        let cases = [(1, 1000, 4), (3, 1000, 4), (6, 1000, 2), (20, 100, 1), (1, 40, 2), (1, 7900, 4), (5, 1590, 2)];
        // Longer code than this gains nothing.
        let cases = cases.into_iter().chain([(1, 8100, 2), (1, 16_100, 1)]);
        for (count, length, wanted) in cases {
            assert_eq!(packets(count, length, Effort::Thorough), wanted, "{count} chains of {length}");
            assert_eq!(packets(count, length, Effort::Quick), 1, "{count} chains of {length}, first code");
        }
    }
}
