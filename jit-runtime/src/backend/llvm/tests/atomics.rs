//! Many lanes and threads change few elements: reducing scatters, and operations that return the old element.

use super::*;
use crate::backend::{Scatters, interpreter};
use crate::ir::random::{Input, Rng};
use crate::ir::{Access, AtomicOp, BinaryOp, Builder, ParamId, ReduceOp, Type, Value, scalar};

fn of_value(ty: Type, value: u64) -> u64 {
    scalar::cast(Type::U64, ty, value)
}

fn bytes(ty: Type, values: impl IntoIterator<Item = u64>) -> Vec<u8> {
    values.into_iter().flat_map(|bits| bits.to_le_bytes()[..ty.size_bytes()].to_vec()).collect()
}

fn values(ty: Type, bytes: &[u8]) -> Vec<u64> {
    let carrier = |bytes: &[u8]| bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
    bytes.chunks(ty.size_bytes()).map(carrier).collect()
}

/// A value that can be combined with others in any order, with the same result.
fn value(op: ReduceOp, ty: Type, rng: &mut Rng) -> u64 {
    match op {
        // Whole numbers that every float adds exactly, and a few powers of two.
        ReduceOp::Add if ty.is_float() => of_value(ty, rng.below(2) as u64),
        ReduceOp::Mul if ty.is_float() => of_value(ty, 1 + u64::from(rng.one_in(60))),
        _ => rng.value(ty),
    }
}

/// Every operation on every type, at an index that all lanes share, that few share, and that differs in each lane.
#[test]
fn reducing_scatters_of_every_operation_and_type() {
    let (mut rng, mut number) = (Rng::new(9), 0);
    for ty in Type::ALL {
        for &op in ReduceOp::ALL.iter().filter(|&&op| scalar::is_supported_reduce(op, ty)) {
            for elements in [1, 3, 200] {
                for masked in [false, true] {
                    let mut b = Builder::new();
                    let target = b.buffer(ty, Access::ReadWrite);
                    let (source, mask) = (b.buffer(ty, Access::Read), b.buffer(Type::Bool, Access::Read));
                    let (value_loaded, mask) = (b.load(source), b.load(mask));
                    let lane = b.lane_index();
                    let count = b.constant(Type::U32, elements);
                    let index = b.binary(BinaryOp::Rem, lane, count);
                    let index = if elements == 1 { b.constant(Type::U32, 0) } else { index };
                    b.scatter(Some(op), target, index, value_loaded, masked.then_some(mask));
                    let inputs = vec![
                        Input::Buffer(bytes(ty, (0..elements).map(|_| value(op, ty, &mut rng)))),
                        Input::Buffer(bytes(ty, (0..200).map(|_| value(op, ty, &mut rng)))),
                        Input::Buffer(bytes(Type::Bool, (0..200).map(|_| rng.bits() & 1))),
                    ];
                    let case = Case { seed: 0, kernel: b.finish(), width: 200, inputs };
                    let wanted = expected(&case, op, ty, elements as usize, masked);
                    let interpreted = case.run(&interpreter::prepare(case.kernel.clone()), None);
                    case.compare(&[wanted], &interpreted).unwrap();
                    // Each case on a few of the targets, with atomic and with plain updates.
                    number += 1;
                    for (position, target) in variants().iter().enumerate().skip(number % 3).step_by(3) {
                        let scatters =
                            [Scatters::Shared, Scatters::Private { copies_log2: 0 }][(number / 3 + position) % 2];
                        check(&case, target, CodeOptions { scatters, ..CodeOptions::default() }).unwrap();
                    }
                }
            }
        }
    }
}

/// The contents of a case's target after the test above, by the arithmetic of single values.
fn expected(case: &Case, op: ReduceOp, ty: Type, elements: usize, masked: bool) -> Vec<u8> {
    let input = |at: usize, ty: Type| match &case.inputs[at] {
        Input::Buffer(bytes) => values(ty, bytes),
        Input::Scalar(_) => Vec::new(),
    };
    let (mut target, source, mask) = (input(0, ty), input(1, ty), input(2, Type::Bool));
    for lane in (0..case.width).filter(|&lane| !masked || mask[lane] != 0) {
        let element = &mut target[lane % elements];
        *element = scalar::reduce(op, ty, *element, source[lane]);
    }
    bytes(ty, target)
}

/// A kernel that runs an operation at a shared or a varying index and stores its results.
struct Fixture {
    builder: Builder,
    target: ParamId,
    index: Value,
    mask: Option<Value>,
    inputs: Vec<Input>,
    width: usize,
}

/// Lanes of a fixture, and elements of its target.
const LANES: usize = 150;
const ELEMENTS: usize = 4;

impl Fixture {
    fn new(ty: Type, is_shared: bool, is_masked: bool) -> Fixture {
        let mut b = Builder::new();
        let target = b.buffer(ty, Access::ReadWrite);
        let mask = b.buffer(Type::Bool, Access::Read);
        let mask = b.load(mask);
        let lane = b.lane_index();
        let count = b.constant(Type::U32, ELEMENTS as u64);
        let varying = b.binary(BinaryOp::Rem, lane, count);
        let index = if is_shared { b.constant(Type::U32, 2) } else { varying };
        let zeros = vec![0; ELEMENTS * ty.size_bytes()];
        let lanes_on = (0..LANES).map(|lane| u64::from(is_on(lane, is_masked)));
        let inputs = vec![Input::Buffer(zeros), Input::Buffer(bytes(Type::Bool, lanes_on))];
        Fixture { builder: b, target, index, mask: is_masked.then_some(mask), inputs, width: LANES }
    }

    fn store(&mut self, value: Value) {
        let ty = self.builder.kernel().ty(value);
        let output = self.builder.buffer(ty, Access::Write);
        self.builder.store(output, value);
        self.inputs.push(Input::Buffer(vec![0x5a; self.width * ty.size_bytes()]));
    }

    /// Runs on every backend, and passes the contents of each written buffer.
    fn run(self, mut examine: impl FnMut(&[Vec<u8>])) {
        let case = Case { seed: 0, kernel: self.builder.finish(), width: self.width, inputs: self.inputs };
        crate::ir::verify(&case.kernel).unwrap();
        examine(&case.run(&interpreter::prepare(case.kernel.clone()), None));
        for target in variants() {
            let executable = compile_for(&case.kernel, CodeOptions::default(), &target).unwrap();
            examine(&case.run(&executable, None));
        }
    }
}

fn is_on(lane: usize, is_masked: bool) -> bool {
    !is_masked || lane % 3 != 1
}

/// Lanes that take part at an element.
fn lanes_at(element: usize, is_shared: bool, is_masked: bool) -> Vec<usize> {
    let hits = |lane: usize| if is_shared { element == 2 } else { lane % ELEMENTS == element };
    (0..LANES).filter(|&lane| hits(lane) && is_on(lane, is_masked)).collect()
}

fn each_form(mut test: impl FnMut(bool, bool)) {
    for is_shared in [false, true] {
        for is_masked in [false, true] {
            test(is_shared, is_masked);
        }
    }
}

/// Adding one to a counter gives each lane a distinct number, from zero without gaps.
#[test]
fn counters_give_each_lane_its_own_number() {
    for ty in Type::ALL.into_iter().filter(|&ty| ty.is_integer() || ty.is_float() && ty != Type::BF16) {
        each_form(|is_shared, is_masked| {
            let mut fixture = Fixture::new(ty, is_shared, is_masked);
            let one = fixture.builder.constant(ty, of_value(ty, 1));
            let (target, index, mask) = (fixture.target, fixture.index, fixture.mask);
            let old = fixture.builder.atomic(AtomicOp::Reduce(ReduceOp::Add), target, index, one, mask);
            fixture.store(old);
            fixture.run(|outputs| {
                let (counts, olds) = (values(ty, &outputs[0]), values(ty, &outputs[2]));
                for (element, &count) in counts.iter().enumerate() {
                    let lanes = lanes_at(element, is_shared, is_masked);
                    assert_eq!(count, of_value(ty, lanes.len() as u64), "{ty}");
                    let mut numbers: Vec<u64> =
                        lanes.iter().map(|&lane| scalar::cast(ty, Type::U64, olds[lane]) & 0xff).collect();
                    numbers.sort_unstable();
                    assert_eq!(numbers, (0..lanes.len() as u64).collect::<Vec<_>>(), "{ty}");
                }
                (0..LANES).filter(|&lane| !is_on(lane, is_masked)).for_each(|lane| assert_eq!(olds[lane], 0));
            });
        });
    }
}

/// Of the initial, written and returned values, none is lost and none appears twice.
#[test]
fn exchanged_values_form_a_chain() {
    for ty in Type::ALL.into_iter().filter(|&ty| ty != Type::Bool && ty != Type::BF16) {
        each_form(|is_shared, is_masked| {
            let mut fixture = Fixture::new(ty, is_shared, is_masked);
            let lane = fixture.builder.lane_index();
            let one = fixture.builder.constant(Type::U32, 1);
            let number = fixture.builder.binary(BinaryOp::Add, lane, one);
            let number = fixture.builder.cast(ty, number);
            let (target, index, mask) = (fixture.target, fixture.index, fixture.mask);
            let old = fixture.builder.atomic(AtomicOp::Exchange, target, index, number, mask);
            fixture.store(old);
            fixture.run(|outputs| {
                let (left, olds) = (values(ty, &outputs[0]), values(ty, &outputs[2]));
                for (element, &left) in left.iter().enumerate() {
                    let lanes = lanes_at(element, is_shared, is_masked);
                    let mut found: Vec<u64> = lanes.iter().map(|&lane| olds[lane]).collect();
                    found.push(left);
                    let written = lanes.iter().map(|&lane| scalar::cast(Type::U64, ty, lane as u64 + 1));
                    let mut written: Vec<u64> = written.chain([0]).collect();
                    found.sort_unstable();
                    written.sort_unstable();
                    assert_eq!(found, written, "{ty}");
                }
            });
        });
    }
}

/// All lanes try to replace zero: one succeeds, and the others read its value.
#[test]
fn one_lane_wins_a_compare_exchange() {
    for ty in Type::ALL {
        each_form(|is_shared, is_masked| {
            let mut fixture = Fixture::new(ty, is_shared, is_masked);
            let zero = fixture.builder.constant(ty, 0);
            let lane = fixture.builder.lane_index();
            let one = fixture.builder.constant(Type::U32, 1);
            let number = fixture.builder.binary(BinaryOp::Add, lane, one);
            let number = fixture.builder.cast(ty, number);
            let (target, index, mask) = (fixture.target, fixture.index, fixture.mask);
            let (old, exchanged) = fixture.builder.compare_exchange(target, index, zero, number, mask);
            fixture.store(old);
            fixture.store(exchanged);
            fixture.run(|outputs| {
                let (left, olds) = (values(ty, &outputs[0]), values(ty, &outputs[2]));
                let won = values(Type::Bool, &outputs[3]);
                for (element, &left) in left.iter().enumerate() {
                    let lanes = lanes_at(element, is_shared, is_masked);
                    let winners: Vec<usize> = lanes.iter().copied().filter(|&lane| won[lane] == 1).collect();
                    assert_eq!(winners.len(), usize::from(!lanes.is_empty()), "{ty}");
                    for lane in lanes {
                        let is_winner = winners.contains(&lane);
                        assert_eq!(olds[lane], if is_winner { 0 } else { left }, "{ty}");
                        assert!(!is_winner || left == scalar::cast(Type::U64, ty, lane as u64 + 1));
                    }
                }
                let off = (0..LANES).filter(|&lane| !is_on(lane, is_masked));
                off.for_each(|lane| assert_eq!((olds[lane], won[lane]), (0, 0)));
            });
        });
    }
}

#[test]
fn values_are_compared_by_their_bits() {
    let negative_zero = u64::from((-0f32).to_bits());
    let nan = u64::from(f32::NAN.to_bits());
    for (there, expected, is_equal) in
        [(0, negative_zero, false), (negative_zero, negative_zero, true), (nan, nan, true), (nan, 0, false)]
    {
        let mut fixture = Fixture::new(Type::F32, true, false);
        fixture.width = 1;
        fixture.inputs[0] = Input::Buffer(bytes(Type::F32, [there; ELEMENTS]));
        let expected = fixture.builder.constant(Type::F32, expected);
        let new = fixture.builder.constant(Type::F32, u64::from(7f32.to_bits()));
        let (target, index) = (fixture.target, fixture.index);
        let (_, exchanged) = fixture.builder.compare_exchange(target, index, expected, new, None);
        fixture.store(exchanged);
        fixture.run(|outputs| {
            assert_eq!(outputs[2], [u8::from(is_equal)]);
            let left = values(Type::F32, &outputs[0])[2];
            assert_eq!(left, if is_equal { u64::from(7f32.to_bits()) } else { there });
        });
    }
}

/// The words of a buffer at a 64-byte boundary.
#[repr(align(64))]
struct Aligned<T>(T);

#[test]
fn many_threads_update_one_element() {
    let mut builder = Builder::new();
    let (sums, counts) = (builder.buffer(Type::F32, Access::ReadWrite), builder.buffer(Type::U16, Access::ReadWrite));
    let (tickets, seen) = (builder.buffer(Type::U32, Access::ReadWrite), builder.buffer(Type::U8, Access::ReadWrite));
    let lane = builder.lane_index();
    let two = builder.constant(Type::U32, 2);
    let index = builder.binary(BinaryOp::Rem, lane, two);
    let (one, count) = (builder.constant(Type::F32, 0x3f80_0000), builder.constant(Type::U16, 1));
    builder.scatter(Some(ReduceOp::Add), sums, index, one, None);
    builder.scatter(Some(ReduceOp::Add), counts, index, count, None);
    let (zero, step) = (builder.constant(Type::U32, 0), builder.constant(Type::U32, 1));
    let ticket = builder.atomic(AtomicOp::Reduce(ReduceOp::Add), tickets, zero, step, None);
    let mark = builder.constant(Type::U8, 1);
    builder.scatter(Some(ReduceOp::Add), seen, ticket, mark, None);
    let kernel = builder.finish();
    for target in targets() {
        let executable = compile_for(&kernel, CodeOptions::default(), &target).unwrap();
        let (mut sums, mut counts, mut tickets) = (Aligned([0f32; 2]), Aligned([0u16; 2]), Aligned([0u32; 1]));
        let mut seen = Box::new(Aligned([0u8; 20000]));
        let addresses = [
            sums.0.as_mut_ptr() as u64,
            counts.0.as_mut_ptr() as u64,
            tickets.0.as_mut_ptr() as u64,
            seen.0.as_mut_ptr() as u64,
        ];
        let lengths = [2, 2, 1, 20000];
        let arguments = std::array::from_fn::<_, 4, _>(|at| RawArgument { word: addresses[at], length: lengths[at] });
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (executable, arguments) = (&executable, &arguments);
                // SAFETY: the buffers outlive the scope, and all accesses are made by runs of one launch.
                scope.spawn(move || unsafe { executable.run(thread * 5000..(thread + 1) * 5000, arguments) });
            }
        });
        assert_eq!((sums.0, counts.0, tickets.0), ([10000.0; 2], [10000; 2], [20000]), "{}", target.cpu);
        assert_eq!(seen.0, [1; 20000], "every lane has drawn its own number");
    }
}
