//! Tests launches from end to end: order, failures, reductions, many threads at once.

use std::ops::Range;
use std::sync::Arc;

use super::*;
use crate::ErrorKind;
use crate::Site;
use crate::backend::{CodeOptions, Executable, RawArgument, interpreter};
use crate::cache::Entry;
use crate::cancel::Poll;
use crate::ir::random::{Case, Input, Options};
use crate::ir::{Access, BinaryOp, Builder, MAX_REDUCE_CHUNK, Param, ReduceOp, Type};
use crate::memory::Buffer;

/// Enough lanes for a launch to be queued, and to have several blocks.
const WIDE: usize = 50_000;
/// Few enough for a launch to run at once.
const NARROW: usize = 100;

fn run(kernel: Kernel, width: usize, arguments: Vec<Argument>) -> Result<(), Error> {
    launch(Launch {
        device: Device::Interpreter,
        kernel,
        width,
        reduce_block: None,
        arguments,
        label: "test".into(),
        site: None,
    })
}

fn buffer(values: &[u32]) -> Arc<Buffer> {
    Buffer::from_bytes(bytemuck::cast_slice(values)).unwrap()
}

fn values(buffer: &Buffer) -> Vec<u32> {
    let mut values = vec![0; buffer.size_bytes() / 4];
    buffer.read(0, bytemuck::cast_slice_mut(&mut values)).unwrap();
    values
}

fn argument(buffer: &Arc<Buffer>) -> Argument {
    Argument::Buffer(Arc::clone(buffer), buffer.size_bytes() / 4)
}

/// `c = a * factor + b`
fn multiply_add() -> Kernel {
    let mut builder = Builder::new();
    let [a, b] = [0, 1].map(|_| builder.buffer(Type::U32, Access::Read));
    let c = builder.buffer(Type::U32, Access::Write);
    let factor = builder.scalar_param(Type::U32);
    let (a, b, factor) = (builder.load(a), builder.load(b), builder.scalar(factor));
    let product = builder.binary(BinaryOp::Mul, a, factor);
    let sum = builder.binary(BinaryOp::Add, product, b);
    builder.store(c, sum);
    builder.finish()
}

/// `a += 1`
fn increment() -> Kernel {
    let mut builder = Builder::new();
    let a = builder.buffer(Type::U32, Access::ReadWrite);
    let (before, one) = (builder.load(a), builder.constant(Type::U32, 1));
    let after = builder.binary(BinaryOp::Add, before, one);
    builder.store(a, after);
    builder.finish()
}

fn reduction(op: ReduceOp, ty: Type) -> Kernel {
    let mut builder = Builder::new();
    let input = builder.buffer(ty, Access::Read);
    let output = builder.buffer(ty, Access::Reduce);
    let value = builder.load(input);
    builder.reduce(op, output, value);
    builder.finish()
}

/// Runs a closure for each range, in place of code.
struct Closure<F>(F);

impl<F: Fn(Range<u64>, &[RawArgument]) + Send + Sync> Executable for Closure<F> {
    unsafe fn run_polled(&self, lanes: Range<u64>, arguments: &[RawArgument], _poll: Poll<'_>) {
        (self.0)(lanes, arguments);
    }

    fn lanes_per_step(&self) -> usize {
        1
    }

    fn code_bytes(&self) -> usize {
        0
    }
}

fn run_closure(
    kernel: Kernel,
    width: usize,
    arguments: Vec<Argument>,
    closure: impl Fn(Range<u64>, &[RawArgument]) + Send + Sync + 'static,
) -> Result<(), Error> {
    let entry = Arc::new(Entry::for_test(0, kernel, CodeOptions::default(), Box::new(Closure(closure))));
    let ready = Ready {
        entry,
        width,
        reduce_block: None,
        arguments,
        label: "closure".into(),
        site: None,
        preparation: stats::Preparation::none(stats::CacheOutcome::Compiled),
        checks: None,
    };
    start(ready, None)
}

/// A small generator of test data (Marsaglia 2003).
struct XorShift(u32);

impl XorShift {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 as usize % bound
    }
}

#[test]
fn a_kernel_runs_over_all_lanes_whatever_the_width() {
    for width in [0, 1, 63, 64, 65, NARROW, WIDE, 3 * WIDE + 7] {
        let a: Vec<u32> = (0..width as u32).collect();
        let b: Vec<u32> = a.iter().map(|i| i ^ 0x5555).collect();
        let c = buffer(&vec![0; width]);
        let arguments = vec![argument(&buffer(&a)), argument(&buffer(&b)), argument(&c), Argument::Scalar(3)];
        run(multiply_add(), width, arguments).unwrap();
        assert!(values(&c).iter().zip(a.iter().zip(&b)).all(|(c, (a, b))| *c == a.wrapping_mul(3).wrapping_add(*b)));
    }
}

/// Launches over six buffers chosen at random, on the machine and on the host.
fn random_launches(seed: u32, count: usize) {
    let mut random = XorShift(seed);
    let mut expected: Vec<Vec<u32>> = (0..6).map(|i| (0..WIDE as u32).map(|lane| lane * 7 + i).collect()).collect();
    let buffers: Vec<Arc<Buffer>> = expected.iter().map(|values| buffer(values)).collect();
    for _ in 0..count {
        let width = if random.below(2) == 0 { NARROW } else { WIDE };
        let [a, b] = [0, 1].map(|_| random.below(6));
        let c = (0..6).cycle().skip(random.below(6)).find(|c| ![a, b].contains(c)).unwrap();
        let factor = random.below(1000) as u32;
        let result = |(a, b): (&u32, &u32)| a.wrapping_mul(factor).wrapping_add(*b);
        let results: Vec<u32> = expected[a].iter().zip(&expected[b]).take(width).map(result).collect();
        expected[c][..width].copy_from_slice(&results);
        let mut arguments: Vec<Argument> = [a, b, c].map(|index| argument(&buffers[index])).into();
        arguments.push(Argument::Scalar(factor.into()));
        run(multiply_add(), width, arguments).unwrap();
        if random.below(10) == 0 {
            let index = random.below(6);
            assert!(values(&buffers[index]) == expected[index]);
        }
    }
    for (buffer, expected) in buffers.iter().zip(&expected) {
        assert!(values(buffer) == *expected);
    }
}

#[test]
fn launches_are_ordered_by_data_on_many_threads() {
    std::thread::scope(|scope| {
        for seed in 1..=4 {
            scope.spawn(move || random_launches(seed, 150));
        }
    });
}

#[test]
fn threads_that_write_one_buffer_exclude_one_another() {
    let shared = buffer(&vec![0; WIDE]);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let shared = &shared;
            scope.spawn(move || {
                for round in 0..250 {
                    let width = if (round + thread) % 5 == 0 { WIDE } else { NARROW };
                    run(increment(), width, vec![argument(shared)]).unwrap();
                }
            });
        }
    });
    let values = values(&shared);
    assert!(values[..NARROW].iter().all(|&value| value == 1000));
    assert!(values[NARROW..].iter().all(|&value| value == 200));
}

#[test]
fn two_threads_with_their_own_data_do_not_disturb_each_other() {
    std::thread::scope(|scope| {
        for thread in 0..2 {
            scope.spawn(move || {
                for round in 0..1000_u32 {
                    let own = buffer(&vec![round + thread; NARROW]);
                    for _ in 0..3 {
                        run(increment(), NARROW, vec![argument(&own)]).unwrap();
                    }
                    assert!(values(&own).iter().all(|&value| value == round + thread + 3));
                }
            });
        }
    });
}

#[test]
fn reductions_are_the_same_for_any_number_of_threads() {
    let width = 11 * MAX_REDUCE_CHUNK + 1234;
    let floats: Vec<f32> = (0..width).map(|i| ((i * 7919) % 10_007) as f32 * 1e-3 - 4.0).collect();
    let input = Buffer::from_bytes(bytemuck::cast_slice(&floats)).unwrap();
    let mut sums = Vec::new();
    for threads in 1..=8 {
        set_threads(threads);
        let output = buffer(&[0]);
        let arguments = vec![Argument::Buffer(Arc::clone(&input), width), argument(&output)];
        run(reduction(ReduceOp::Add, Type::F32), width, arguments).unwrap();
        sums.push(values(&output)[0]);
    }
    set_threads(2);
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:x?}");
    let exact: f64 = floats.iter().map(|&value| f64::from(value)).sum();
    assert!((f64::from(f32::from_bits(sums[0])) - exact).abs() < 1e-5 * width as f64);
}

#[test]
fn reductions_of_each_size_of_element_combine_their_chunks() {
    for width in [0, 1, MAX_REDUCE_CHUNK, MAX_REDUCE_CHUNK + 1, 3 * MAX_REDUCE_CHUNK] {
        let bytes: Vec<u8> = (0..width).map(|i| (i % 251) as u8).collect();
        let input = Buffer::from_bytes(&bytes).unwrap();
        let output = Buffer::from_bytes(&[77]).unwrap();
        let arguments = vec![Argument::Buffer(input, width), Argument::Buffer(Arc::clone(&output), 1)];
        run(reduction(ReduceOp::Max, Type::U8), width, arguments).unwrap();
        let mut result = [0];
        output.read(0, &mut result).unwrap();
        assert_eq!(result[0], bytes.iter().copied().max().unwrap_or(0), "width {width}");

        let words: Vec<u64> = (0..width as u64).map(|i| i * i + 1).collect();
        let input = Buffer::from_bytes(bytemuck::cast_slice(&words)).unwrap();
        let output = Buffer::from_bytes(&[77; 8]).unwrap();
        let arguments = vec![Argument::Buffer(input, width), Argument::Buffer(Arc::clone(&output), 1)];
        run(reduction(ReduceOp::Add, Type::U64), width, arguments).unwrap();
        let mut result = [0; 8];
        output.read(0, &mut result).unwrap();
        assert_eq!(u64::from_le_bytes(result), words.iter().sum::<u64>(), "width {width}");
    }
}

#[test]
fn a_panic_in_a_launch_is_an_error_at_what_it_should_have_written() {
    for width in [NARROW, WIDE] {
        let (input, failed, after, other) =
            (buffer(&[1; WIDE]), buffer(&[2; WIDE]), buffer(&[3; WIDE]), buffer(&[4; WIDE]));
        let arguments =
            |c: &Arc<Buffer>, a: &Arc<Buffer>| vec![argument(a), argument(&input), argument(c), Argument::Scalar(1)];
        let outcome = run_closure(multiply_add(), width, arguments(&failed, &input), |lanes, _| {
            assert!(!lanes.contains(&40), "lane 40 is bad");
        });
        let error = outcome.and_then(|()| failed.wait()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Launch);
        assert!(error.to_string().contains("lane 40 is bad"), "{error}");

        let outcome = run(multiply_add(), width, arguments(&after, &failed));
        assert_eq!(outcome.and_then(|()| after.wait()).unwrap_err().kind(), ErrorKind::Launch);
        assert_eq!(failed.read(0, &mut [0]).unwrap_err().kind(), ErrorKind::Launch);

        run(multiply_add(), width, arguments(&other, &input)).unwrap();
        assert_eq!(values(&other)[NARROW - 1], 2);
        assert_eq!(values(&input)[0], 1, "a failed launch does not change what it only reads");
    }
}

#[test]
fn launches_that_do_not_fit_their_kernel_are_refused() {
    let [a, b, c] = [0; 3].map(|_| buffer(&[0; NARROW]));
    let good = vec![argument(&a), argument(&b), argument(&c), Argument::Scalar(1)];
    let with = |position: usize, argument: Argument| {
        let mut arguments = good.clone();
        arguments[position] = argument;
        arguments
    };
    let cases = [
        (good[..3].to_vec(), "3 arguments for 4 parameters"),
        (with(0, Argument::Scalar(0)), "argument 0 is a scalar"),
        (with(3, argument(&a)), "argument 3 is a buffer"),
        (with(1, Argument::Buffer(Arc::clone(&b), NARROW - 1)), "has 99 elements where 100"),
        (with(1, Argument::Buffer(Arc::clone(&b), NARROW + 1)), "claims 101 elements in 400 bytes"),
        (with(1, Argument::Buffer(Arc::clone(&b), usize::MAX)), "claims"),
        (with(2, argument(&a)), "is written and bound to 2 parameters"),
    ];
    for (arguments, expected) in cases {
        let error = run(multiply_add(), NARROW, arguments).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(expected), "{error}");
    }
    run(multiply_add(), NARROW, with(1, argument(&a))).unwrap();
    let error = run(multiply_add(), (1 << 32) + 1, good).unwrap_err();
    assert!(error.to_string().contains("at most 4294967296 lanes"), "{error}");
}

#[test]
fn writing_on_the_host_waits_for_readers() {
    for round in 0..50 {
        let (a, c) = (buffer(&vec![round; WIDE]), buffer(&vec![0; WIDE]));
        run(multiply_add(), WIDE, vec![argument(&a), argument(&a), argument(&c), Argument::Scalar(1)]).unwrap();
        a.write(0, bytemuck::cast_slice(&vec![99_u32; WIDE])).unwrap();
        assert!(values(&c).iter().all(|&value| value == 2 * round));
    }
}

#[test]
fn after_sync_everything_is_done() {
    let buffers: Vec<Arc<Buffer>> = (0..8).map(|_| buffer(&vec![0; WIDE])).collect();
    for _ in 0..5 {
        for buffer in &buffers {
            run(increment(), WIDE, vec![argument(buffer)]).unwrap();
        }
    }
    wait_for_all();
    assert!(buffers.iter().all(|buffer| buffer.is_ready()));
    assert!(buffers.iter().all(|buffer| values(buffer).iter().all(|&value| value == 5)));
}

#[test]
fn a_launch_keeps_its_arguments_alive() {
    for _ in 0..20 {
        let c = buffer(&vec![0; WIDE]);
        {
            let (a, b) = (buffer(&vec![5; WIDE]), buffer(&vec![6; WIDE]));
            run(multiply_add(), WIDE, vec![argument(&a), argument(&b), argument(&c), Argument::Scalar(2)]).unwrap();
        }
        let unrelated = buffer(&vec![1000; WIDE]);
        assert!(values(&c).iter().all(|&value| value == 16));
        drop(unrelated);
    }
}

#[test]
fn launches_are_remembered_with_their_times() {
    let c = buffer(&vec![0; WIDE]);
    let input = buffer(&vec![1; WIDE]);
    let label = "remembered".into();
    for (width, factor) in [(NARROW, 1), (WIDE, 2)] {
        let arguments = vec![argument(&input), argument(&input), argument(&c), Argument::Scalar(factor)];
        let (device, kernel) = (Device::Interpreter, multiply_add());
        launch(Launch { device, kernel, width, reduce_block: None, arguments, label, site: Some(Site::here()) })
            .unwrap();
    }
    c.wait().unwrap();
    let records: Vec<_> = stats::kernel_history().into_iter().filter(|record| record.label == label).collect();
    assert_eq!(records.iter().map(|record| record.width).collect::<Vec<_>>(), [NARROW, WIDE]);
    for record in &records {
        assert_eq!((record.inputs, record.outputs, record.ops), (2, 1, 6));
        assert_eq!(record.device, Device::Interpreter);
        assert!(record.execution_time.is_some());
        assert_eq!(record.site.unwrap().file(), file!());
    }
    assert!(records[1].is_hit);
    assert_eq!(records[0].hash, records[1].hash);
    let entries = cache::entries();
    let entry = entries.iter().find(|entry| entry.hash == records[0].hash).unwrap();
    assert!(entry.launches >= 2 && entry.ns_per_lane.is_some());
}

#[test]
fn the_number_of_threads_may_change_at_any_time() {
    std::thread::scope(|scope| {
        for seed in 11..=13 {
            scope.spawn(move || random_launches(seed, 60));
        }
        scope.spawn(|| {
            let mut random = XorShift(5);
            for _ in 0..200 {
                set_threads(1 + random.below(5));
                std::thread::yield_now();
            }
            set_threads(2);
        });
    });
}

#[test]
fn failures_among_other_launches_stay_where_they_belong() {
    std::thread::scope(|scope| {
        for thread in 0..3_u32 {
            scope.spawn(move || {
                let input = buffer(&vec![thread; WIDE]);
                for round in 0..40 {
                    let (good, bad) = (buffer(&vec![0; WIDE]), buffer(&vec![0; WIDE]));
                    let arguments =
                        |c: &Arc<Buffer>| vec![argument(&input), argument(&input), argument(c), Argument::Scalar(1)];
                    let bad_lane = 1 + round * 1000;
                    let _ = run_closure(multiply_add(), WIDE, arguments(&bad), move |lanes, _| {
                        assert!(!lanes.contains(&bad_lane));
                    });
                    run(multiply_add(), WIDE, arguments(&good)).unwrap();
                    assert!(values(&good).iter().all(|&value| value == 2 * thread));
                    assert!(bad.wait().is_err());
                }
            });
        }
    });
}

/// Launches a random kernel and returns the final contents of its buffers, in the form of [`Case::run`].
fn launch_case(case: &Case, device: Device) -> Vec<Vec<u8>> {
    let bind = |(input, param): (&Input, &Param)| match input {
        Input::Buffer(bytes) => {
            Argument::Buffer(Buffer::from_bytes(bytes).unwrap(), bytes.len() / param.ty().size_bytes())
        }
        Input::Scalar(bits) => Argument::Scalar(*bits),
    };
    let arguments: Vec<Argument> = case.inputs.iter().zip(&case.kernel.params).map(bind).collect();
    let (kernel, width) = (case.kernel.clone(), case.width);
    launch(Launch {
        device,
        kernel,
        width,
        reduce_block: None,
        arguments: arguments.clone(),
        label: "random".into(),
        site: None,
    })
    .unwrap();
    let read = |argument: &Argument| match argument {
        Argument::Buffer(buffer, _) => {
            let mut bytes = vec![0; buffer.size_bytes()];
            buffer.read(0, &mut bytes).unwrap();
            bytes
        }
        Argument::Scalar(_) => Vec::new(),
    };
    arguments.iter().map(read).collect()
}

#[test]
fn random_kernels_give_on_each_device_what_the_interpreter_gives() {
    let few = |seed| Case::new(seed, &Options { transcendental: true, ..Options::structured() });
    let many = |seed| Case::new(seed, &Options { width: Some(40_000), ..Options::structured() });
    for case in (0..40).map(few).chain((100..110).map(many)) {
        let expected = case.run(&interpreter::prepare(case.kernel.clone()), None);
        for device in Device::HOST {
            for _ in 0..2 {
                case.compare(&expected, &launch_case(&case, device)).unwrap();
            }
        }
    }
}

/// `y = x * x + 1`, in the lanes in which `x` is not 3.
fn plain() -> Kernel {
    let mut builder = Builder::new();
    let (x, y) = (builder.buffer(Type::U32, Access::Read), builder.buffer(Type::U32, Access::ReadWrite));
    let value = builder.load(x);
    let square = builder.binary(BinaryOp::Mul, value, value);
    let [one, three] = [1, 3].map(|number| builder.constant(Type::U32, number));
    let sum = builder.binary(BinaryOp::Add, square, one);
    let is_other = builder.compare(crate::ir::CompareOp::Ne, value, three);
    builder.scatter(None, y, value, sum, Some(is_other));
    builder.finish()
}

fn launch_plain(device: Device, kernel: Kernel) -> Result<Vec<u32>, Error> {
    let x: Vec<u32> = (0..16).collect();
    let (x, y) = (Buffer::from_bytes(bytemuck::cast_slice(&x))?, Buffer::alloc(64)?);
    let arguments = vec![Argument::Buffer(x, 16), Argument::Buffer(Arc::clone(&y), 16)];
    let (width, reduce_block, label, site) = (16, None, "plain".into(), None);
    launch(Launch { device, kernel, width, reduce_block, arguments, label, site })?;
    let mut values = vec![0; 16];
    y.read(0, bytemuck::cast_slice_mut(&mut values))?;
    Ok(values)
}

#[test]
fn invalid_kernels_are_refused_and_never_run() {
    use crate::ir::{Op, ParamId, Value};
    type Change = fn(&mut Kernel);
    let changes: [Change; 8] = [
        |kernel| kernel.regions.clear(),
        |kernel| kernel.types.clear(),
        |kernel| kernel.params.clear(),
        |kernel| kernel.regions[0].insts[0].op = Op::Load(ParamId(7)),
        |kernel| kernel.regions[0].insts[1].op = Op::Binary(BinaryOp::Mul, Value(99), Value(0)),
        |kernel| kernel.regions[0].insts[1].op = Op::Binary(BinaryOp::Mul, Value(4), Value(0)),
        |kernel| kernel.types[1] = Type::F32,
        |kernel| kernel.regions[0].yields.push(Value(0)),
    ];
    for device in Device::HOST {
        for (number, change) in changes.iter().enumerate() {
            let mut kernel = plain();
            change(&mut kernel);
            assert!(crate::ir::verify(&kernel).is_err(), "change {number}");
            let error = launch_plain(device, kernel.clone()).expect_err("no kernel");
            assert!(error.to_string().contains("not well-formed"), "change {number}: {error}");
            let refused = crate::backend::compile(device, &kernel, CodeOptions::default());
            assert!(refused.is_err(), "change {number}");
        }
        let expected: Vec<u32> = (0..16).map(|x| if x == 3 { 0 } else { x * x + 1 }).collect();
        assert_eq!(launch_plain(device, plain()).unwrap(), expected);
    }
}

#[test]
fn damaged_kernel_files_are_refused_or_run() {
    let bytes = crate::ir::encode::to_bytes(&plain());
    let mut refused = 0;
    for at in 0..bytes.len() {
        for flipped in [1, 2, 0x10, 0x80] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flipped;
            let kernel = crate::ir::encode::from_bytes(&damaged).map_err(|error| error.to_string());
            // A decoded kernel may not fit any arguments; running it must still be safe.
            let launched = kernel.map(|kernel| launch_plain(Device::Interpreter, kernel));
            refused += usize::from(!matches!(launched, Ok(Ok(_))));
        }
    }
    assert!(refused > 3 * bytes.len(), "{refused} of {}", 4 * bytes.len());
}

#[test]
fn checks_look_at_nothing_but_their_arguments() {
    let site = Site::here();
    let access = CheckedAccess { kind: AccessKind::Gather, ty: Type::U32, width: 4, is_signed: false, site };
    for (report, accesses) in [(0, 1), (1, 1), (7, 1), (usize::MAX, 1), (2, 5)] {
        let mut builder = Builder::new();
        let (x, y) = (builder.buffer(Type::U32, Access::Read), builder.buffer(Type::U32, Access::Write));
        let notes = builder.buffer(Type::U64, Access::ReadWrite);
        let value = builder.load(x);
        builder.store(y, value);
        let zero = builder.constant(Type::U32, 0);
        let note = builder.constant(Type::U64, u64::MAX);
        builder.scatter(Some(ReduceOp::Min), notes, zero, note, None);
        let buffers = [Buffer::alloc(16), Buffer::alloc(16), Buffer::from_bytes(&[u8::MAX; 32])].map(Result::unwrap);
        let arguments = buffers.into_iter().map(|buffer| Argument::Buffer(buffer, 4)).collect();
        let checks = Some(Checks { report, accesses: vec![access; accesses], ..Checks::default() });
        let (device, kernel, label) = (Device::Interpreter, builder.finish(), "checked".into());
        let launch = Launch { device, kernel, width: 4, reduce_block: None, arguments, label, site: None };
        let outcome = launch_with_notes(launch, Notes { checks, ..Notes::default() });
        let error = outcome.expect_err("the report is not a buffer of so many notes");
        assert!(error.to_string().contains("which its checks read"), "{report}: {error}");
    }
}

#[test]
fn fresh_memory_shows_nothing_of_what_was_there() {
    for size in [8, 1000, 100_000, 5 << 20] {
        drop(Buffer::from_bytes(&vec![0xa5; size]).unwrap());
        let fresh = Buffer::alloc(size).unwrap();
        assert!(fresh.bytes().unwrap().iter().all(|byte| *byte == 0), "{size}");
        let operand = native::Operand::alloc(Type::U8, size).unwrap();
        assert!(operand.buffer.bytes().unwrap().iter().all(|byte| *byte == 0), "{size}");
    }
}
