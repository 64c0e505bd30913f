//! Launches: shapes of grids, chunks of reductions, parts of the lanes, many parameters, lanes that compete.

use super::kernels::{Table, buffers};
use super::*;
use crate::ir::random::{Input, Options};
use crate::ir::{Access, AtomicOp, BinaryOp, Builder, ReduceOp, Type, reduce_chunk, scalar};

/// The bytes of a buffer that is aligned for elements of every type.
fn aligned(bytes: &[u8]) -> Vec<u64> {
    let mut words = vec![0u64; bytes.len().div_ceil(8) + 1];
    bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
    words
}

fn argument(words: &mut [u64], length: usize) -> RawArgument {
    RawArgument { word: words.as_mut_ptr() as u64, length: length as u64 }
}

/// One launch over several chunks: a block of threads writes the result of each one.
#[test]
fn each_block_of_threads_reduces_a_chunk() {
    let shapes = [(1, 1), (63, 63), (3 * 512, 3 * 512), (9000, 9000), (33_668, 33_668), (33_668, 16_684), (100, 7)];
    for ty in [Type::F32, Type::F16, Type::I8, Type::F64] {
        let mut builder = Builder::new();
        let (source, target) = (builder.buffer(ty, Access::Read), builder.buffer(ty, Access::Reduce));
        let value = builder.load(source);
        builder.reduce(ReduceOp::Add, target, value);
        let kernel = builder.finish();
        let emulated = Emulated::new(&kernel, TARGETS[0], 9).unwrap();
        for (lanes, per_reduction) in shapes {
            let lanes_per_chunk = reduce_chunk(lanes as usize, per_reduction as usize) as u64;
            let reduced = Reduced { lanes: per_reduction, lanes_per_chunk };
            let mut rng = Rng::new(lanes);
            let bytes: Vec<u8> = (0..lanes)
                .flat_map(|_| {
                    let eighths = rng.below(1000) as f64 / 8.0;
                    scalar::cast(Type::F64, ty, eighths.to_bits()).to_le_bytes()[..ty.size_bytes()].to_vec()
                })
                .collect();
            let mut source = aligned(&bytes);
            let chunks = reduced.chunks(lanes) as usize;
            let mut results = vec![0u64; chunks];
            let arguments = [argument(&mut source, lanes as usize), argument(&mut results, chunks)];
            emulated.launch(0..lanes, reduced, &arguments).unwrap();
            let actual: &[u8] = &bytemuck::cast_slice(&results)[..chunks * ty.size_bytes()];
            assert_eq!(actual, chunks_by_the_interpreter(&kernel, lanes, reduced, arguments[0]), "{ty}, {lanes}");
        }
    }
}

/// The results of the chunks, one by one.
fn chunks_by_the_interpreter(kernel: &Kernel, lanes: u64, reduced: Reduced, source: RawArgument) -> Vec<u8> {
    let executable = interpreter::prepare(kernel.clone());
    let size = kernel.params[1].ty().size_bytes();
    let mut bytes = Vec::new();
    let mut first = 0;
    while first < lanes {
        let end_of_block = ((first / reduced.lanes + 1) * reduced.lanes).min(lanes);
        let end = (first + reduced.lanes_per_chunk).min(end_of_block);
        let mut result = [0u64];
        // SAFETY: the buffers are those of the parameters, and live to the end of the call.
        unsafe { executable.run(first..end, &[source, argument(&mut result, 1)]) };
        bytes.extend_from_slice(&result[0].to_le_bytes()[..size]);
        first = end;
    }
    bytes
}

#[test]
fn a_launch_in_parts_computes_the_same() {
    for seed in 700..712 {
        let case = Case::new(seed, &Options { operations: 8, width: Some(65), ..Options::expressions() });
        let expected = case.run(&interpreter::prepare(case.kernel.clone()), None);
        let kernel = prepared(&case);
        let emulated = Emulated::new(&kernel, TARGETS[1], seed).unwrap();
        for piece in [1, 13, 64] {
            case.compare(&expected, &case.run(&emulated, Some(piece))).unwrap();
        }
    }
}

#[test]
fn an_empty_launch_writes_nothing() {
    let case = Case::new(3, &Options { width: Some(5), ..Options::expressions() });
    let kernel = prepared(&case);
    let emulated = Emulated::new(&kernel, TARGETS[0], 3).unwrap();
    let mut memory = [0u64; 8];
    let arguments: Vec<_> = kernel.params.iter().map(|_| argument(&mut memory, 5)).collect();
    emulated.launch(0..0, Reduced::in_one_chunk(1), &arguments).unwrap();
    assert_eq!(memory, [0; 8]);
    assert!(buffers(&kernel, Access::Write).count() > 0);
}

/// As an unsigned number, a negative index is below the length of a very long buffer.
#[test]
fn a_negative_index_is_out_of_range_of_any_buffer() {
    for (ty, indices) in [(Type::I32, [-2i32, 1]), (Type::I32, [i32::MIN, 0])] {
        let mut builder = Builder::new();
        let (index, source) = (builder.buffer(ty, Access::Read), builder.buffer(Type::U32, Access::Read));
        let output = builder.buffer(Type::U32, Access::Write);
        let index = builder.load(index);
        let element = builder.gather(source, index, None);
        builder.store(output, element);
        let kernel = builder.finish();
        let emulated = Emulated::new(&kernel, TARGETS[0], 1).unwrap();
        let mut words = [indices[0] as u32, indices[1] as u32].map(u64::from);
        words = [words[0] | words[1] << 32, 0];
        let (mut elements, mut outputs) = ([7u64 | 8 << 32], [99u64]);
        let mut arguments = [argument(&mut words, 2), argument(&mut elements, 2), argument(&mut outputs, 2)];
        let global = emulated.memory(&arguments);
        // Only the first two elements exist, so any other access is an error.
        arguments[1].length = u32::MAX.into();
        let grid = Grid { first_lane: 0, end_lane: 2, lanes_per_reduction: 2, lanes_per_chunk: 512, scratch: 0 };
        let parameters = emulated.layout.pack(&grid, &arguments);
        let (entry, global) = (&emulated.entry, &global);
        ptx_interpreter::launch(&Launch { entry, blocks: 1, threads: 32, parameters: &parameters, global, seed: 1 })
            .unwrap();
        assert_eq!(outputs[0], u64::from([7u32, 8][indices[1] as usize]) << 32);
    }
}

#[test]
fn an_empty_reduction_writes_the_identity() {
    let mut builder = Builder::new();
    let target = builder.buffer(Type::F32, Access::Reduce);
    let one = builder.constant(Type::F32, scalar::one(Type::F32));
    builder.reduce(ReduceOp::Min, target, one);
    let kernel = builder.finish();
    let emulated = Emulated::new(&kernel, TARGETS[0], 3).unwrap();
    let mut result = [7u64];
    let grid = Grid { first_lane: 0, end_lane: 0, lanes_per_reduction: 1, lanes_per_chunk: 512, scratch: 0 };
    let arguments = [argument(&mut result, 1)];
    let parameters = emulated.layout.pack(&grid, &arguments);
    let (entry, global) = (&emulated.entry, &emulated.memory(&arguments));
    let launch = Launch { entry, blocks: 1, threads: 64, parameters: &parameters, global, seed: 1 };
    ptx_interpreter::launch(&launch).unwrap();
    assert_eq!(result[0], u64::from(f32::INFINITY.to_bits()));
}

/// More bytes of parameters than are passed by value.
#[test]
fn many_parameters_are_in_memory() {
    for count in [340, 341, 500] {
        let mut table = Table::new(count);
        let operands: Vec<_> = (0..count).map(|_| table.operand(Type::U32)).collect();
        let sum = operands.into_iter().reduce(|a, b| table.builder.binary(BinaryOp::Add, a, b)).unwrap();
        let scalars: Vec<_> = Type::ALL.into_iter().map(|ty| table.scalar(ty)).collect();
        table.store(sum);
        scalars.into_iter().for_each(|scalar| table.store(scalar));
        let case = table.finish(0);
        assert!(!Layout::of(&case.kernel).is_by_value());
        check(&case, TARGETS[1]).unwrap();
    }
}

#[test]
fn the_bytes_of_parameters_are_those_of_the_declared_types() {
    for seed in 0..50 {
        let case = Case::new(seed, &Options::structured());
        let (kernel, layout) = (prepared(&case), Layout::of(&case.kernel));
        let entry = Emulated::new(&kernel, TARGETS[0], seed).unwrap().entry;
        let grid = Grid { first_lane: 0, end_lane: 1, lanes_per_reduction: 1, lanes_per_chunk: 512, scratch: 0 };
        let arguments = vec![RawArgument { word: 0, length: 0 }; kernel.params.len()];
        if layout.is_by_value() {
            assert_eq!(layout.pack(&grid, &arguments).len(), entry.parameter_bytes);
        }
    }
}

/// All lanes update few elements. Sums of whole numbers are exact in any order.
#[test]
fn no_update_of_competing_lanes_is_lost() {
    let types = [Type::U8, Type::I16, Type::U32, Type::I64, Type::F16, Type::BF16, Type::F32, Type::F64];
    for (seed, ty) in types.into_iter().enumerate() {
        let mut table = Table::new(seed as u64);
        let lane = table.builder.lane_index();
        let three = table.builder.constant(Type::U32, 3);
        let index = table.builder.binary(BinaryOp::Rem, lane, three);
        let one = table.builder.constant(ty, scalar::one(ty));
        let target = table.buffer_of(ty, Access::ReadWrite, 3);
        table.inputs[target.index()] = Input::Buffer(vec![0; 3 * ty.size_bytes()]);
        table.builder.scatter(Some(ReduceOp::Add), target, index, one, None);
        let olds = table.buffer_of(ty, Access::ReadWrite, 3);
        table.inputs[olds.index()] = Input::Buffer(vec![0; 3 * ty.size_bytes()]);
        table.builder.atomic(AtomicOp::Reduce(ReduceOp::Max), olds, index, one, None);
        for seed in 0..4 {
            let case = Case { seed, width: 200, kernel: table.builder.kernel().clone(), inputs: table.inputs.clone() };
            check(&case, TARGETS[0]).unwrap();
        }
    }
}

/// Each lane that increments a counter receives another number.
#[test]
fn old_elements_are_distinct() {
    let mut builder = Builder::new();
    let (counter, output) = (builder.buffer(Type::U16, Access::ReadWrite), builder.buffer(Type::U16, Access::Write));
    let (zero, one) = (builder.constant(Type::U32, 0), builder.constant(Type::U16, 1));
    let old = builder.atomic(AtomicOp::Reduce(ReduceOp::Add), counter, zero, one, None);
    builder.store(output, old);
    let kernel = builder.finish();
    for seed in 0..8 {
        let inputs = vec![Input::Buffer(vec![0; 2]), Input::Buffer(vec![0; 400])];
        let case = Case { seed, kernel: kernel.clone(), width: 200, inputs };
        let outputs = case.run(&Emulated::new(&kernel, TARGETS[0], seed).unwrap(), None);
        let mut numbers: Vec<u16> =
            outputs[1].chunks(2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]])).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..200).collect::<Vec<u16>>());
    }
}
