//! Tests the choice of strategy, and that it does not affect results.

use super::*;
use crate::ir::random::Rng;
use crate::ir::{AtomicOp, CompareOp};
use crate::launch::Launch;

const fn private(copies_log2: u8) -> Scatters {
    Scatters::Private { copies_log2 }
}

#[test]
fn the_strategy_follows_the_sizes() {
    let cases = [
        // A histogram of few bins has neighbours, in the cache; more bins have fewer, then none.
        ((256, 4), 1 << 24, 2, private(3)),
        ((1024, 4), 1 << 24, 2, private(2)),
        ((4096, 4), 1 << 24, 2, private(0)),
        ((1 << 20, 4), 1 << 24, 2, private(0)),
        // Too few lanes for the elements.
        ((1 << 20, 4), 1 << 14, 2, Scatters::Shared),
        ((1 << 12, 4), 4096, 16, Scatters::Shared),
        // Too much memory.
        ((1 << 24, 8), 1 << 28, 2, Scatters::Shared),
        ((1 << 22, 4), 1 << 28, 64, Scatters::Shared),
        // A single thread works on the result whatever its size.
        ((1 << 24, 8), 1 << 12, 1, private(0)),
        ((0, 4), 1 << 20, 2, Scatters::Shared),
    ];
    for (size, width, threads, expected) in cases {
        let work = Work { lanes: width, updates_per_lane: 1, has_loop: false };
        assert_eq!(for_sizes(&[size], work, threads), expected, "{size:?} {width} {threads}");
    }
}

#[test]
fn all_updates_of_a_lane_count() {
    let of = |lanes, updates_per_lane, has_loop| {
        let work = Work { lanes, updates_per_lane, has_loop };
        (for_sizes(&[(100_000, 4)], work, 2), for_segments(&[(100_000, 4)], work), segments(&[(100_000, 4)], work, 0))
    };
    assert_eq!(of(20_000, 1, false), (Scatters::Shared, Scatters::Shared, 1));
    assert_eq!(of(20_000, 90, false), (private(0), private(0), 16));
    // Four updates stand for as many lanes as one of four times as many, but for the lanes of a segment.
    assert_eq!(of(20_000, 10, false), of(200_000, 1, false));
    assert_eq!(of(100, 20_000, false), (private(0), Scatters::Private { copies_log2: 0 }, 1));
    assert_eq!(of(20_000, 1, true), (private(0), private(0), 4));
}

#[test]
fn segments_follow_the_sizes_alone() {
    let cases = [
        // Elements, lanes, whether there is a loop, how they are updated, segments.
        (50, 300_000, false, private(3), 16),
        (1000, 300_000, false, private(2), 16),
        (1000, 100_000, false, private(0), 16),
        (4096, 300_000, false, private(0), 16),
        (100_000, 1 << 20, false, private(0), 8),
        (1 << 20, 1 << 20, false, private(0), 2),
        (1 << 22, 1 << 20, false, Scatters::Shared, 1),
        // Too narrow to be cut: in the order of lanes.
        (1000, 6000, false, private(0), 1),
        (1000, 20_000, false, private(0), 4),
        // Long lanes are divided among all threads, however few lanes there are.
        (3000, 1000, true, private(0), 8),
        (3000, 100, true, private(0), 2),
        (100_000, 100, true, Scatters::Shared, 1),
        (10, 20, true, private(0), 1),
    ];
    let before = crate::launch::threads();
    for threads in [2, 3, 64] {
        crate::launch::set_threads(threads);
        for (elements, width, has_loop, expected, count) in cases {
            let sizes = [(elements, 4)];
            let work = Work { lanes: width, updates_per_lane: 1, has_loop };
            let scatters = for_segments(&sizes, work);
            assert_eq!(scatters, expected, "{elements} {width} {has_loop} {threads}");
            assert_eq!(segments(&sizes, work, scatters.copies_log2()), count, "{elements} {work:?}");
        }
    }
    crate::launch::set_threads(before);
}

/// A value that can be combined with others in any order, with the same result.
fn value(op: ReduceOp, ty: Type, rng: &mut Rng) -> u64 {
    let number = match op {
        // Sums that every float represents exactly, and few powers of two.
        ReduceOp::Add if ty.is_float() => u64::from(rng.one_in(400)),
        ReduceOp::Mul if ty.is_float() => 1 + u64::from(rng.one_in(5000)),
        _ => return rng.value(ty),
    };
    scalar::cast(Type::U64, ty, number)
}

fn buffer_of(ty: Type, values: &[u64]) -> Arc<Buffer> {
    let bytes: Vec<u8> = values.iter().flat_map(|bits| bits.to_le_bytes()[..ty.size_bytes()].to_vec()).collect();
    Buffer::from_bytes(&bytes).unwrap()
}

fn run(device: Device, kernel: Kernel, width: usize, arguments: Vec<Argument>) {
    let (reduce_block, label, site) = (None, "scatter".into(), None);
    crate::launch::launch(Launch { device, kernel, width, reduce_block, arguments, label, site }).unwrap();
}

fn values_of(ty: Type, buffer: &Buffer) -> Vec<u64> {
    let mut bytes = vec![0; buffer.size_bytes()];
    buffer.read(0, &mut bytes).unwrap();
    let carrier = |bytes: &[u8]| bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
    bytes.chunks(ty.size_bytes()).map(carrier).collect()
}

/// Combines values at indices, in a launch and one by one, and compares the results.
fn check(device: Device, op: ReduceOp, ty: Type, elements: usize, masked: bool) {
    const WIDTH: usize = 40_000;
    let mut rng = Rng::new(elements as u64);
    let indices: Vec<u64> = (0..WIDTH).map(|_| rng.below(elements) as u64).collect();
    let masks: Vec<u64> = (0..WIDTH).map(|_| u64::from(!masked || !rng.one_in(3))).collect();
    let values: Vec<u64> = (0..WIDTH).map(|_| value(op, ty, &mut rng)).collect();
    let mut expected: Vec<u64> = (0..elements).map(|_| value(op, ty, &mut rng)).collect();

    let mut b = Builder::new();
    let (target, index) = (b.buffer(ty, Access::ReadWrite), b.buffer(Type::U32, Access::Read));
    let (mask, source) = (b.buffer(Type::Bool, Access::Read), b.buffer(ty, Access::Read));
    let (at, mask, source) = (b.load(index), b.load(mask), b.load(source));
    b.scatter(Some(op), target, at, source, masked.then_some(mask));
    let result = buffer_of(ty, &expected);
    let arguments = vec![
        Argument::Buffer(Arc::clone(&result), elements),
        Argument::Buffer(buffer_of(Type::U32, &indices), WIDTH),
        Argument::Buffer(buffer_of(Type::Bool, &masks), WIDTH),
        Argument::Buffer(buffer_of(ty, &values), WIDTH),
    ];
    run(device, b.finish(), WIDTH, arguments);

    for lane in (0..WIDTH).filter(|&lane| masks[lane] != 0) {
        let element = &mut expected[indices[lane] as usize];
        *element = scalar::reduce(op, ty, *element, values[lane]);
    }
    let is_nan = |bits| ty.is_float() && f64::from_bits(scalar::cast(ty, Type::F64, bits)).is_nan();
    for (element, (&actual, &expected)) in values_of(ty, &result).iter().zip(&expected).enumerate() {
        let agrees = actual == expected || is_nan(actual) && is_nan(expected);
        assert!(agrees, "{device} {op:?} {ty}, {elements} elements, {masked}: {element} is {actual:#x}, {expected:#x}");
    }
}

#[test]
fn every_operation_and_type_combines_with_each_strategy() {
    for ty in Type::ALL {
        for &op in ReduceOp::ALL.iter().filter(|&&op| scalar::is_supported_reduce(op, ty)) {
            // Neighbours, a target for each thread that is merged in one or more parts, and atomic operations.
            for (elements, masked) in [(70, false), (70, true), (5000, true), (70_000, false), (300_000, true)] {
                check(Device::Cpu, op, ty, elements, masked);
            }
            check(Device::Interpreter, op, ty, 70, true);
        }
    }
}

/// Adds lanes at indices of a type that were loaded, of which some are out of range, and compares with a plain loop.
fn check_indices(device: Device, ty: Type, elements: usize, are_few_outside: bool) {
    const WIDTH: usize = 40_000;
    let mut rng = Rng::new(elements as u64);
    // In most packets all lanes are in range, or in none.
    let is_outside = |rng: &mut Rng| if are_few_outside { rng.one_in(100) } else { rng.one_in(3) };
    let any = |rng: &mut Rng| scalar::cast(Type::U64, ty, rng.bits());
    let inside = |rng: &mut Rng| scalar::cast(Type::U64, ty, rng.below(elements.min(128)) as u64);
    let indices: Vec<u64> =
        (0..WIDTH).map(|_| if is_outside(&mut rng) { any(&mut rng) } else { inside(&mut rng) }).collect();
    let values: Vec<u64> = (0..WIDTH).map(|_| rng.bits() & 0xffff_ffff).collect();
    let mut b = Builder::new();
    let (target, index) = (b.buffer(Type::U32, Access::ReadWrite), b.buffer(ty, Access::Read));
    let source = b.buffer(Type::U32, Access::Read);
    let (at, value) = (b.load(index), b.load(source));
    b.scatter(Some(ReduceOp::Add), target, at, value, None);
    let result = buffer_of(Type::U32, &vec![0; elements]);
    let arguments = vec![
        Argument::Buffer(Arc::clone(&result), elements),
        Argument::Buffer(buffer_of(ty, &indices), WIDTH),
        Argument::Buffer(buffer_of(Type::U32, &values), WIDTH),
    ];
    run(device, b.finish(), WIDTH, arguments);
    let mut expected = vec![0u32; elements];
    for (&index, &value) in indices.iter().zip(&values) {
        // Negative ones are beyond all elements.
        let index = scalar::cast(ty, Type::I64, index);
        if let Some(element) = usize::try_from(index).ok().and_then(|index| expected.get_mut(index)) {
            *element = element.wrapping_add(value as u32);
        }
    }
    let actual = values_of(Type::U32, &result);
    assert!(actual.iter().zip(&expected).all(|(&a, &b)| a == u64::from(b)), "{device} {ty} {elements}");
}

#[test]
fn lanes_whose_loaded_index_is_out_of_range_combine_nothing() {
    for ty in Type::ALL.into_iter().filter(|ty| ty.is_integer()) {
        for elements in [70, 200, 5000] {
            for are_few_outside in [true, false] {
                check_indices(Device::Cpu, ty, elements, are_few_outside);
            }
            check_indices(Device::Interpreter, ty, elements, true);
        }
    }
}

#[test]
fn any_byte_but_zero_is_true() {
    const WIDTH: usize = 40_000;
    for device in [Device::Cpu, Device::Interpreter] {
        let mut b = Builder::new();
        let (target, index) = (b.buffer(Type::Bool, Access::ReadWrite), b.buffer(Type::U32, Access::Read));
        let source = b.buffer(Type::Bool, Access::Read);
        let (at, value) = (b.load(index), b.load(source));
        b.scatter(Some(ReduceOp::And), target, at, value, None);
        let result = buffer_of(Type::Bool, &[1; 70]);
        let arguments = vec![
            Argument::Buffer(Arc::clone(&result), 70),
            Argument::Buffer(buffer_of(Type::U32, &(0..WIDTH as u64).map(|lane| lane % 70).collect::<Vec<_>>()), WIDTH),
            Argument::Buffer(buffer_of(Type::Bool, &[2; WIDTH]), WIDTH),
        ];
        run(device, b.finish(), WIDTH, arguments);
        assert_eq!(values_of(Type::Bool, &result), [1; 70], "{device}");
    }
}

#[test]
fn consecutive_elements_are_combined_as_vectors() {
    const WIDTH: usize = 30_000;
    for ty in [Type::F32, Type::F16, Type::Bool, Type::I64] {
        let op = if ty == Type::Bool { ReduceOp::Or } else { ReduceOp::Add };
        let mut b = Builder::new();
        let (target, source) = (b.buffer(ty, Access::ReadWrite), b.buffer(ty, Access::Read));
        let (lane, offset) = (b.lane_index(), b.constant(Type::U32, 3));
        let (index, limit) = (b.binary(BinaryOp::Add, lane, offset), b.constant(Type::U32, 20_001));
        let is_low = b.compare(CompareOp::Lt, lane, limit);
        let value = b.load(source);
        b.scatter(Some(op), target, index, value, Some(is_low));
        b.scatter(Some(op), target, index, value, None);
        let one = scalar::cast(Type::U8, ty, 1);
        let result = buffer_of(ty, &vec![0; WIDTH + 3]);
        let arguments = vec![
            Argument::Buffer(Arc::clone(&result), WIDTH + 3),
            Argument::Buffer(buffer_of(ty, &vec![one; WIDTH]), WIDTH),
        ];
        let (device, kernel) = (Device::Cpu, b.finish());
        run(device, kernel, WIDTH, arguments);
        let two = scalar::reduce(op, ty, one, one);
        let expected = |element: usize| match element {
            0..3 => 0,
            3..20_004 => two,
            _ => one,
        };
        assert_eq!(values_of(ty, &result), (0..WIDTH + 3).map(expected).collect::<Vec<_>>(), "{ty}");
    }
}

/// An element whose updates return the old value keeps all threads on one target, whatever else the kernel combines.
#[test]
fn private_and_shared_targets_in_one_kernel() {
    const WIDTH: usize = 100_000;
    let mut b = Builder::new();
    let (counter, sums) = (b.buffer(Type::U32, Access::ReadWrite), b.buffer(Type::U32, Access::ReadWrite));
    let numbers = b.buffer(Type::U32, Access::Write);
    let (zero, one, bins) = (b.constant(Type::U32, 0), b.constant(Type::U32, 1), b.constant(Type::U32, 7));
    let number = b.atomic(AtomicOp::Reduce(ReduceOp::Add), counter, zero, one, None);
    let bin = b.binary(BinaryOp::Rem, number, bins);
    b.scatter(Some(ReduceOp::Add), sums, bin, number, None);
    b.store(numbers, number);
    let kernel = b.finish();
    assert_eq!(kernel.combined_buffers(), [None, Some(ReduceOp::Add), None]);
    let [counter, sums] = [1, 7].map(|elements| buffer_of(Type::U32, &vec![0; elements]));
    let numbers = buffer_of(Type::U32, &vec![0; WIDTH]);
    let arguments = vec![
        Argument::Buffer(Arc::clone(&counter), 1),
        Argument::Buffer(Arc::clone(&sums), 7),
        Argument::Buffer(Arc::clone(&numbers), WIDTH),
    ];
    let device = Device::Cpu;
    run(device, kernel, WIDTH, arguments);
    assert_eq!(values_of(Type::U32, &counter), [WIDTH as u64]);
    let mut drawn = values_of(Type::U32, &numbers);
    drawn.sort_unstable();
    assert_eq!(drawn, (0..WIDTH as u64).collect::<Vec<_>>());
    let sum = |bin: usize| (bin as u64..WIDTH as u64).step_by(7).sum::<u64>() & 0xffff_ffff;
    assert_eq!(values_of(Type::U32, &sums), (0..7).map(sum).collect::<Vec<_>>());
}

/// Elements that no lane combines into retain their bits, even if merging covers them.
#[test]
fn elements_that_no_lane_touches_keep_the_sign_of_zero() {
    const WIDTH: usize = 40_000;
    for elements in [8, 20_000] {
        let mut b = Builder::new();
        let target = b.buffer(Type::F32, Access::ReadWrite);
        let (zero, one) = (b.constant(Type::U32, 0), b.constant(Type::F32, u64::from(1f32.to_bits())));
        let lane = b.lane_index();
        let index = b.binary(BinaryOp::Mul, lane, zero);
        b.scatter(Some(ReduceOp::Add), target, index, one, None);
        let negative_zero = u64::from((-0f32).to_bits());
        let result = buffer_of(Type::F32, &vec![negative_zero; elements]);
        let (device, kernel, arguments) =
            (Device::Cpu, b.finish(), vec![Argument::Buffer(Arc::clone(&result), elements)]);
        run(device, kernel, WIDTH, arguments);
        let values = values_of(Type::F32, &result);
        assert_eq!(values[0], u64::from((WIDTH as f32).to_bits()));
        assert!(values[1..].iter().all(|&bits| bits == negative_zero), "{elements} elements");
    }
}

/// Targets without code to merge them.
fn targets(segment_units: Option<u64>, group: usize, slots: usize) -> PrivateTargets {
    let mut targets = SmallVec::new();
    if slots > 0 {
        let merge = merge_code(Device::Interpreter, ReduceOp::Add, Type::U32, 0).unwrap();
        let (param, neutral, elements) = (0, 0, slots / group);
        let ty = Type::U32;
        targets.push(Target { param, ty, neutral, is_rounded: false, elements, slots, result: 0, merge, join: None });
    }
    let state = Mutex::new(State { used: Vec::new(), free: Vec::new() });
    let returned = Condvar::new();
    PrivateTargets { targets, starts_with_result: group == 1, group, sets: 4, segment_units, state, returned }
}

#[test]
fn parts_end_where_segments_end_wherever_they_begin() {
    for each in 1..5_u64 {
        for start in 0..10_u64 {
            for end in start..13 {
                let parts: Vec<Range<u64>> = targets(Some(each), 1, 0).parts(start..end).collect();
                let units: Vec<u64> = parts.iter().cloned().flatten().collect();
                assert_eq!(units, (start..end).collect::<Vec<_>>(), "segments of {each}");
                assert!(parts.iter().all(|part| part.start / each == (part.end - 1) / each), "{parts:?} of {each}");
                assert!(parts.windows(2).all(|pair| pair[0].end % each == 0), "{parts:?} of {each}");
            }
        }
    }
    let whole: Vec<Range<u64>> = targets(None, 1, 0).parts(3..1000).collect();
    assert_eq!(whole, vec![3..1000; 1]);
}

#[test]
fn private_targets_have_room_for_the_lanes_that_are_out_of_range() {
    for group in [1, 2, 8] {
        let slots = 5 * group;
        let memory = targets(None, group, slots).allocate().unwrap();
        assert_eq!(memory[0].size_bytes(), (slots + group) * 4);
        assert!(memory[0].bytes().unwrap().iter().all(|&byte| byte == 0));
    }
}
