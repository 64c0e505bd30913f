//! Tests the interpreter with kernels whose results were worked out by hand.

use super::*;
use crate::ir::random::{Case, Input, Options};
use crate::ir::{Access, BinaryOp, Builder, CompareOp, MAX_REDUCE_CHUNK, ReduceOp, Type};

fn u32s(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn run(builder: Builder, width: usize, inputs: Vec<Input>) -> Vec<Vec<u8>> {
    let kernel = builder.finish();
    Case { seed: 0, kernel: kernel.clone(), width, inputs }.run(&prepare(kernel), None)
}

#[test]
fn lanes_exit_a_loop_one_by_one() {
    // Collatz steps until 1.
    let mut b = Builder::new();
    let (source, target) = (b.buffer(Type::U32, Access::Read), b.buffer(Type::U32, Access::Write));
    let start = b.load(source);
    let zero = b.constant(Type::U32, 0);
    let (condition, state) = b.open_region(&[Type::U32, Type::U32]);
    let one = b.constant(Type::U32, 1);
    let continues = b.compare(CompareOp::Ne, state[0], one);
    b.close_region(vec![continues]);
    let (body, _) = b.open_region(&[]);
    let odd = b.binary(BinaryOp::And, state[0], one);
    let is_odd = b.compare(CompareOp::Eq, odd, one);
    let three = b.constant(Type::U32, 3);
    let up = b.fma(state[0], three, one);
    let down = b.binary(BinaryOp::Shr, state[0], one);
    let next = b.select(is_odd, up, down);
    let steps = b.binary(BinaryOp::Add, state[1], one);
    b.close_region(vec![next, steps]);
    let results = b.loop_(vec![start, zero], condition, body);
    b.store(target, results[1]);
    let inputs = vec![Input::Buffer(u32s([1, 2, 3, 27, 6, 1])), Input::Buffer(u32s([0; 6]))];
    assert_eq!(run(b, 6, inputs)[1], u32s([0, 1, 7, 111, 8, 0]));
}

#[test]
fn loop_state_is_exchanged_at_once() {
    let mut b = Builder::new();
    let target = b.buffer(Type::U32, Access::Write);
    let lane = b.lane_index();
    let inits = [100, 200].map(|value| b.constant(Type::U32, value));
    let zero = b.constant(Type::U32, 0);
    let (condition, state) = b.open_region(&[Type::U32; 3]);
    let continues = b.compare(CompareOp::Lt, state[2], lane);
    b.close_region(vec![continues]);
    let (body, _) = b.open_region(&[]);
    let one = b.constant(Type::U32, 1);
    let next = b.binary(BinaryOp::Add, state[2], one);
    b.close_region(vec![state[1], state[0], next]);
    let results = b.loop_(vec![inits[0], inits[1], zero], condition, body);
    b.store(target, results[0]);
    assert_eq!(run(b, 5, vec![Input::Buffer(u32s([0; 5]))])[0], u32s([100, 200, 100, 200, 100]));
}

#[test]
fn lanes_that_are_off_touch_no_memory() {
    let mut b = Builder::new();
    let (table, target) = (b.buffer(Type::U32, Access::Read), b.buffer(Type::U32, Access::ReadWrite));
    let lane = b.lane_index();
    let limit = b.constant(Type::U32, 3);
    let in_range = b.compare(CompareOp::Lt, lane, limit);
    let (then_region, _) = b.open_region(&[]);
    // Other lanes would add to elements beyond the third.
    let gathered = b.gather(table, lane, None);
    b.scatter(Some(ReduceOp::Add), target, lane, gathered, None);
    b.close_region(vec![gathered]);
    let (else_region, _) = b.open_region(&[]);
    let masked = b.gather(table, lane, Some(in_range));
    b.close_region(vec![masked]);
    let results = b.if_(in_range, then_region, else_region);
    let output = b.buffer(Type::U32, Access::Write);
    b.store(output, results[0]);
    let inputs = vec![Input::Buffer(u32s([5, 6, 7])), Input::Buffer(u32s([10, 20, 30])), Input::Buffer(u32s([9; 6]))];
    let outputs = run(b, 6, inputs);
    assert_eq!(outputs[1], u32s([15, 26, 37]));
    assert_eq!(outputs[2], u32s([5, 6, 7, 0, 0, 0]));
}

#[test]
fn each_lane_runs_its_case() {
    let mut b = Builder::new();
    let (source, target) = (b.buffer(Type::U32, Access::Read), b.buffer(Type::U32, Access::ReadWrite));
    let (index, lane) = (b.load(source), b.lane_index());
    let regions: Vec<_> = (0..3)
        .map(|case| {
            let (region, _) = b.open_region(&[]);
            let number = b.constant(Type::U32, 100 * (case + 1));
            b.scatter(Some(ReduceOp::Add), target, lane, number, None);
            let sum = b.binary(BinaryOp::Add, number, index);
            b.close_region(vec![sum]);
            region
        })
        .collect();
    let results = b.switch(index, regions[..2].to_vec(), regions[2]);
    let output = b.buffer(Type::U32, Access::Write);
    b.store(output, results[0]);
    let zeros = || Input::Buffer(u32s([0; 5]));
    let outputs = run(b, 5, vec![Input::Buffer(u32s([1, 0, 2, u32::MAX, 1])), zeros(), zeros()]);
    assert_eq!(outputs[1], u32s([200, 100, 300, 300, 200]));
    assert_eq!(outputs[2], u32s([201, 100, 302, 299, 201]));
}

#[test]
fn local_memory_belongs_to_a_lane_and_out_of_range_is_nowhere() {
    let mut b = Builder::new();
    let (source, target) = (b.buffer(Type::I32, Access::Read), b.buffer(Type::U32, Access::Write));
    let local = b.local(Type::U32, 3);
    let (index, lane) = (b.load(source), b.lane_index());
    let ten = b.constant(Type::U32, 10);
    let value = b.binary(BinaryOp::Add, lane, ten);
    b.local_write(local, index, value);
    let elements: Vec<_> = (-1..=3)
        .map(|place: i64| {
            let place = b.constant(Type::I64, place as u64);
            b.local_read(local, place)
        })
        .collect();
    let hundred = b.constant(Type::U32, 100);
    let digits = elements.into_iter().reduce(|sum, element| b.fma(sum, hundred, element)).unwrap();
    b.store(target, digits);
    let indices = u32s([0, 1, 2, 3, u32::MAX, 1]);
    let outputs = run(b, 6, vec![Input::Buffer(indices), Input::Buffer(u32s([0; 6]))]);
    assert_eq!(outputs[1], u32s([10_000_000, 110_000, 1_200, 0, 0, 150_000]));
}

#[test]
fn local_memory_is_filled_and_copied_whole() {
    for len in [3, 40] {
        let mut b = Builder::new();
        let target = b.buffer(Type::U32, Access::Write);
        let (from, to) = (b.local(Type::U32, len), b.local(Type::U32, len));
        let (lane, two) = (b.lane_index(), b.constant(Type::U32, 2));
        b.local_fill(from, lane);
        b.local_write(from, two, two);
        b.local_copy(from, to);
        b.local_fill(from, two);
        let (last, first) = (b.constant(Type::U32, u64::from(len) - 1), b.constant(Type::U32, 0));
        let sum = [first, two, last].map(|index| b.local_read(to, index));
        let sum = sum.into_iter().reduce(|a, c| b.binary(BinaryOp::Add, a, c)).unwrap();
        b.store(target, sum);
        let expected = if len == 3 { [4, 5, 6, 7] } else { [2, 4, 6, 8] };
        assert_eq!(run(b, 4, vec![Input::Buffer(u32s([0; 4]))])[0], u32s(expected), "{len}");
    }
}

#[test]
fn reductions_over_several_chunks() {
    let width = MAX_REDUCE_CHUNK * 2 + 5;
    let mut b = Builder::new();
    let (sum, most) = (b.buffer(Type::U32, Access::Reduce), b.buffer(Type::U32, Access::Reduce));
    let lane = b.lane_index();
    b.reduce(ReduceOp::Add, sum, lane);
    b.reduce(ReduceOp::Max, most, lane);
    let outputs = run(b, width, vec![Input::Buffer(u32s([0])), Input::Buffer(u32s([0]))]);
    let expected = (0..width as u32).fold(0u32, u32::wrapping_add);
    assert_eq!(outputs, [u32s([expected]), u32s([width as u32 - 1])]);
}

#[test]
fn an_index_out_of_range_reads_zero_and_writes_nothing() {
    let mut b = Builder::new();
    let (table, target) = (b.buffer(Type::U32, Access::Read), b.buffer(Type::U32, Access::ReadWrite));
    let (index, output) = (b.buffer(Type::I8, Access::Read), b.buffer(Type::U32, Access::Write));
    let index = b.load(index);
    let gathered = b.gather(table, index, None);
    b.store(output, gathered);
    let one = b.constant(Type::U32, 1);
    b.scatter(Some(ReduceOp::Add), target, index, one, None);
    let inputs = [u32s([5, 6, 7]), u32s([10, 20]), [0, 2, -1, 3, 1, -128].map(|i: i8| i as u8).to_vec(), u32s([9; 6])];
    let outputs = run(b, 6, inputs.map(Input::Buffer).into());
    assert_eq!(outputs[3], u32s([5, 7, 0, 0, 6, 0]));
    assert_eq!(outputs[1], u32s([11, 21]));
}

#[test]
fn scatters_of_many_threads_combine() {
    let mut b = Builder::new();
    let target = b.buffer(Type::U16, Access::ReadWrite);
    let lane = b.lane_index();
    let two = b.constant(Type::U32, 2);
    let index = b.binary(BinaryOp::Rem, lane, two);
    let one = b.constant(Type::U16, 1);
    b.scatter(Some(ReduceOp::Add), target, index, one, None);
    let executable = prepare(b.finish());
    let mut counts = [0u64; 1];
    let arguments = [RawArgument { word: counts.as_mut_ptr() as u64, length: 2 }];
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (executable, arguments) = (&executable, &arguments);
            // SAFETY: the buffer outlives the scope, and all accesses are made by runs of one launch.
            scope.spawn(move || unsafe { executable.run(thread * 1000..(thread + 1) * 1000, arguments) });
        }
    });
    assert_eq!(counts[0], 2000 | 2000 << 16);
}

#[test]
fn the_result_does_not_depend_on_how_lanes_are_divided() {
    for seed in 0..60 {
        let options = Options { reductions: false, ..Options::structured() };
        let case = Case::new(seed, &options);
        let executable = prepare(case.kernel.clone());
        let whole = case.run(&executable, None);
        for piece in [1, 7, 64] {
            case.compare(&whole, &case.run(&executable, Some(piece))).unwrap();
        }
    }
}

#[test]
fn random_kernels_compute_something() {
    let mut distinct = std::collections::HashSet::new();
    for seed in 0..60 {
        let case = Case::new(seed, &Options::structured());
        distinct.insert(case.run(&prepare(case.kernel.clone()), None));
        assert_eq!(case.kernel, Case::new(seed, &Options::structured()).kernel);
    }
    assert!(distinct.len() > 50, "{}", distinct.len());
}
