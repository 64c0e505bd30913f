//! Tests reductions of all lanes and of blocks: the bits that the semantics require, on every device.

use super::*;
use crate::config::Device;
use crate::ir::random::Rng;
use crate::ir::{Access, BinaryOp, Builder, MAX_REDUCE_CHUNK, REDUCE_ROW};
use crate::launch::{Launch, launch};

/// The semantics of `Op::Reduce`, applied one value after another.
fn reference(op: ReduceOp, ty: Type, values: &[u64], chunk_lanes: usize) -> u64 {
    let wide = if matches!(ty, Type::F16 | Type::BF16) { Type::F32 } else { ty };
    let chunk = |values: &[u64]| {
        let mut row = [scalar::identity(op, wide); REDUCE_ROW];
        for (lane, &value) in values.iter().enumerate() {
            let result = &mut row[lane % REDUCE_ROW];
            *result = scalar::reduce(op, wide, *result, scalar::cast(ty, wide, value));
        }
        for half in [32, 16, 8, 4, 2, 1] {
            (0..half).for_each(|at| row[at] = scalar::reduce(op, wide, row[at], row[at + half]));
        }
        scalar::cast(wide, ty, row[0])
    };
    let mut results: Vec<u64> = values.chunks(chunk_lanes).map(chunk).collect();
    while results.len() > 1 {
        let pair = |pair: &[u64]| pair[1..].iter().fold(pair[0], |a, &b| scalar::reduce(op, ty, a, b));
        results = results.chunks(2).map(pair).collect();
    }
    results.first().copied().unwrap_or(scalar::identity(op, ty))
}

/// The lanes of a chunk where all lanes are reduced to one value.
fn chunk_of_all_lanes(width: usize) -> usize {
    [512, 1024, 2048].into_iter().find(|chunk| 32 * chunk >= width).unwrap_or(4096)
}

fn bytes_of(ty: Type, values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|bits| bits.to_le_bytes()[..ty.size_bytes()].to_vec()).collect()
}

/// Reduces the values, in blocks if there are any, on a device.
fn reduce(device: Device, op: ReduceOp, ty: Type, values: &[u64], reduce_block: Option<usize>) -> Vec<u8> {
    let mut b = Builder::new();
    let (input, output) = (b.buffer(ty, Access::Read), b.buffer(ty, Access::Reduce));
    let value = b.load(input);
    b.reduce(op, output, value);
    let (kernel, width) = (b.finish(), values.len());
    let count = reduce_block.map_or(1, |block| width.div_ceil(block));
    let result = Buffer::alloc(count * ty.size_bytes()).unwrap();
    let arguments = vec![
        Argument::Buffer(Buffer::from_bytes(&bytes_of(ty, values)).unwrap(), width),
        Argument::Buffer(Arc::clone(&result), count),
    ];
    launch(Launch { device, kernel, width, reduce_block, arguments, label: "reduce".into(), site: None }).unwrap();
    let mut bytes = vec![0; count * ty.size_bytes()];
    result.read(0, &mut bytes).unwrap();
    bytes
}

/// Numbers of similar magnitude, whose sums and products reveal the order in which they are rounded.
fn numbers(op: ReduceOp, ty: Type, count: usize, rng: &mut Rng) -> Vec<u64> {
    let number = |rng: &mut Rng| match ty.is_float() {
        true if op == ReduceOp::Mul => 1.0 + (rng.below(2001) as f64 - 1000.0) / 3e4,
        true => (rng.below(2001) as f64 - 1000.0) / 300.0,
        false => rng.below(1 << 20) as f64,
    };
    (0..count).map(|_| scalar::cast(Type::F64, ty, number(rng).to_bits())).collect()
}

#[test]
fn every_device_gives_the_bits_that_the_semantics_ask_for() {
    let mut rng = Rng::new(1);
    for ty in Type::ALL {
        for &op in ReduceOp::ALL.iter().filter(|&&op| scalar::is_supported_reduce(op, ty)) {
            for width in [0, 1, 63, 64, 65, 512, 513, 1000, 16_384, 16_385, 98_765, 300_000] {
                let values = numbers(op, ty, width, &mut rng);
                let expected = bytes_of(ty, &[reference(op, ty, &values, chunk_of_all_lanes(width))]);
                for device in crate::tested_devices::all() {
                    assert_eq!(reduce(device, op, ty, &values, None), expected, "{device} {op:?} {ty}, {width} lanes");
                }
            }
        }
    }
}

#[test]
fn blocks_are_reduced_one_by_one() {
    let mut rng = Rng::new(2);
    for (op, ty) in [
        (ReduceOp::Add, Type::F32),
        (ReduceOp::Mul, Type::F64),
        (ReduceOp::Add, Type::F16),
        (ReduceOp::Max, Type::I8),
        (ReduceOp::Or, Type::Bool),
    ] {
        for width in [0, 1, 100, 5000, 3 * MAX_REDUCE_CHUNK + 5] {
            let values = numbers(op, ty, width, &mut rng);
            // Blocks within a chunk, of several chunks, and wider than the launch; most with a shorter last one.
            for block in [1, 7, 64, 1000, MAX_REDUCE_CHUNK, MAX_REDUCE_CHUNK + 11, usize::MAX] {
                if width > 1000 && block == 1 {
                    continue;
                }
                let chunk = if block < width { 16_384 } else { chunk_of_all_lanes(width) };
                let blocks = values.chunks(block).map(|values| reference(op, ty, values, chunk));
                let expected = bytes_of(ty, &blocks.collect::<Vec<_>>());
                for device in crate::tested_devices::all() {
                    let actual = reduce(device, op, ty, &values, Some(block));
                    assert_eq!(actual, expected, "{device} {op:?} {ty}, {width} lanes in blocks of {block}");
                }
            }
        }
    }
}

/// Other results of the kernel do not depend on where blocks begin.
#[test]
fn a_kernel_that_reduces_blocks_may_store_by_lane() {
    const WIDTH: usize = 10_001;
    let mut b = Builder::new();
    let (stored, reduced) = (b.buffer(Type::U32, Access::Write), b.buffer(Type::U32, Access::Reduce));
    let (lane, three) = (b.lane_index(), b.constant(Type::U32, 3));
    let value = b.binary(BinaryOp::Mul, lane, three);
    b.store(stored, value);
    b.reduce(ReduceOp::Add, reduced, value);
    let blocks = WIDTH.div_ceil(130);
    let [each, sums] = [WIDTH, blocks].map(|count| Buffer::alloc(4 * count).unwrap());
    let arguments = vec![Argument::Buffer(Arc::clone(&each), WIDTH), Argument::Buffer(Arc::clone(&sums), blocks)];
    let (device, kernel, reduce_block) = (Device::Cpu, b.finish(), Some(130));
    launch(Launch { device, kernel, width: WIDTH, reduce_block, arguments, label: "both".into(), site: None }).unwrap();
    let (mut each_bytes, mut sum_bytes) = (vec![0; 4 * WIDTH], vec![0; 4 * blocks]);
    each.read(0, &mut each_bytes).unwrap();
    sums.read(0, &mut sum_bytes).unwrap();
    let values: Vec<u64> = (0..WIDTH as u64).map(|lane| 3 * lane).collect();
    assert_eq!(each_bytes, bytes_of(Type::U32, &values));
    let expected: Vec<u64> = values.chunks(130).map(|values| values.iter().sum()).collect();
    assert_eq!(sum_bytes, bytes_of(Type::U32, &expected));
}

#[test]
fn a_block_without_lanes_and_room_for_too_few_blocks_are_refused() {
    let mut b = Builder::new();
    let output = b.buffer(Type::U32, Access::Reduce);
    let lane = b.lane_index();
    b.reduce(ReduceOp::Add, output, lane);
    let kernel = b.finish();
    let message = |block: usize| {
        let arguments = vec![Argument::Buffer(Buffer::alloc(40).unwrap(), 10)];
        let (device, kernel, reduce_block) = (Device::Interpreter, kernel.clone(), Some(block));
        launch(Launch { device, kernel, width: 101, reduce_block, arguments, label: "blocks".into(), site: None })
            .unwrap_err()
            .to_string()
    };
    assert!(message(0).contains("blocks of reductions have at least one lane"), "{}", message(0));
    assert!(message(10).contains("argument 0 has 10 elements where 11 are accessed"), "{}", message(10));
}
