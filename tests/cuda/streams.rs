//! Streams of threads: launches on one wait for those on others that they share data with, and for no more.
//!
//! The driver for tests holds launches back, so that none is done before all are queued, and ends the process if
//! accesses of the same memory are not ordered.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, OnceLock};

use jit::prelude::*;
use jit::{ErrorKind, with_device};
use jit_runtime::ir::{Access, BinaryOp, Builder, Type};
use jit_runtime::launch::{Argument, Launch, launch};
use jit_runtime::memory::Buffer;

use super::{FIRST, SECOND, floats, is_alone, through_local_memory};

/// A function of the driver for tests.
pub(super) fn of_driver<F: Copy>(name: &std::ffi::CStr) -> F {
    let path = std::ffi::CString::new(std::env::var("JIT_TEST_CUDA_DRIVER").unwrap()).unwrap();
    // SAFETY: the library is loaded already, and the caller knows the type of its function.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
        let function = libc::dlsym(library, name.as_ptr());
        assert!(!function.is_null(), "{name:?} is missing");
        std::mem::transmute_copy(&function)
    }
}

/// Holds launches back until it is dropped.
pub(super) struct Held(extern "C" fn(bool));

pub(super) fn hold() -> Held {
    let held = Held(of_driver(c"fake_cuda_hold"));
    held.0(true);
    held
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0(false);
    }
}

fn streams() -> usize {
    of_driver::<extern "C" fn() -> usize>(c"fake_cuda_streams")()
}

/// Runs a function on a thread of its own, which ends.
pub(super) fn elsewhere<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| scope.spawn(work).join().unwrap())
}

fn evaluated(x: Float) -> Float {
    jit::eval(&x).unwrap();
    x
}

#[jit]
fn put(target: &mut Float, index: &UInt, value: &Float) {
    target[index] = value;
}

fn numbers(len: usize) -> Float {
    floats(FIRST, &(0..len).map(|number| number as f32).collect::<Vec<_>>())
}

fn doubled(len: usize) -> Vec<f32> {
    (0..len).map(|number| 2.0 * number as f32).collect()
}

// one device: a GPU of a driver for tests
#[test]
fn a_launch_waits_for_the_one_on_another_stream_that_writes_what_it_reads() {
    let test = "streams::a_launch_waits_for_the_one_on_another_stream_that_writes_what_it_reads";
    if !is_alone(test, "") {
        return;
    }
    let x = numbers(1000);
    let held = hold();
    let y = elsewhere(|| evaluated(&x * 2.0));
    let z = evaluated(&y + 0.5);
    let sum = evaluated(y.sum());
    let sorted = y.sort();
    jit::eval(&sorted).unwrap();
    drop(held);
    assert_eq!(z.to_vec().unwrap(), doubled(1000).iter().map(|value| value + 0.5).collect::<Vec<_>>());
    assert_eq!(sum.item().unwrap(), 999_000.0);
    assert_eq!(sorted.to_vec().unwrap(), doubled(1000));
}

// one device: a GPU of a driver for tests
#[test]
fn a_library_call_waits_for_launches_on_other_streams_and_they_wait_for_it() {
    let test = "streams::a_library_call_waits_for_launches_on_other_streams_and_they_wait_for_it";
    if !is_alone(test, "") {
        return;
    }
    let x = numbers(5000);
    let held = hold();
    let y = elsewhere(|| evaluated(4999.0 - &x));
    let sorted = evaluated(y.sort());
    let z = elsewhere(|| evaluated(&sorted * 2.0));
    drop(held);
    assert_eq!(z.to_vec().unwrap(), doubled(5000));
}

// one device: a GPU of a driver for tests
#[test]
fn a_launch_overwrites_what_another_stream_reads_only_when_it_has_read() {
    let test = "streams::a_launch_overwrites_what_another_stream_reads_only_when_it_has_read";
    if !is_alone(test, "") {
        return;
    }
    let mut x = numbers(1000);
    let index = with_device(FIRST, || UInt::from((0..500).collect::<Vec<u32>>()));
    let held = hold();
    let (first, second) = (elsewhere(|| evaluated(&x * 2.0)), elsewhere(|| evaluated(&x + 1.0)));
    put(&mut x, &index, &with_device(FIRST, || Float::opaque(-1.0)));
    let x = evaluated(x);
    drop(held);
    assert_eq!(first.to_vec().unwrap(), doubled(1000));
    assert_eq!(second.sum().item().unwrap(), 500_500.0);
    assert_eq!(x.to_vec().unwrap()[498..502], [-1.0, -1.0, 500.0, 501.0]);
}

// one device: a GPU of a driver for tests
#[test]
fn writes_on_several_streams_are_in_the_order_of_the_program() {
    let test = "streams::writes_on_several_streams_are_in_the_order_of_the_program";
    if !is_alone(test, "") {
        return;
    }
    let mut x = numbers(1000);
    let held = hold();
    for thread in 0..4_u16 {
        x = elsewhere(move || {
            let index = with_device(FIRST, || UInt::arange(250) + u32::from(thread) * 200);
            put(&mut x, &index, &with_device(FIRST, || Float::opaque(-f32::from(thread))));
            evaluated(x)
        });
    }
    drop(held);
    let found = x.to_vec().unwrap();
    assert_eq!((found[199], found[200], found[449], found[649]), (0.0, -1.0, -2.0, -3.0));
    assert_eq!(found[849..852], [-3.0, 850.0, 851.0]);
}

// one device: a GPU of a driver for tests
#[test]
fn launches_that_share_no_data_do_not_wait_for_those_of_other_threads() {
    let test = "streams::launches_that_share_no_data_do_not_wait_for_those_of_other_threads";
    if !is_alone(test, "") {
        return;
    }
    let waits = of_driver::<extern "C" fn() -> usize>(c"fake_cuda_waits");
    let (x, held) = (numbers(1000), hold());
    let results: Vec<Float> = (2..5_u16).map(|number| elsewhere(|| evaluated(&x * f32::from(number)))).collect();
    assert_eq!(waits(), 0, "all of them only read it");
    let sum = evaluated(&results[0] + &results[1] + &results[2]);
    assert_eq!(waits(), 3, "one for each stream");
    let again = evaluated(&results[2] + &sum);
    assert_eq!(waits(), 4, "the stream has its own results in order");
    drop(held);
    assert_eq!(sum.get(7).unwrap(), 63.0);
    assert_eq!(again.get(7).unwrap(), 91.0);
}

// one device: a GPU of a driver for tests
#[test]
fn a_launch_waits_for_the_last_one_of_another_stream_that_it_needs() {
    let test = "streams::a_launch_waits_for_the_last_one_of_another_stream_that_it_needs";
    if !is_alone(test, "") {
        return;
    }
    let (x, held) = (numbers(1000), hold());
    let (first, second) = elsewhere(|| (evaluated(&x * 2.0), evaluated(&x + 1.0)));
    // In one order, and in the other.
    let sums = [elsewhere(|| evaluated(&first * 3.0 - &second)), elsewhere(|| evaluated(&second * 3.0 - &first))];
    drop(held);
    assert_eq!(sums.map(|sum| sum.get(10).unwrap()), [49.0, 13.0]);
}

/// Launches a kernel that adds one to each element of a buffer.
fn add_one([from, to]: [&Arc<Buffer>; 2]) {
    let mut builder = Builder::new();
    let (input, output) = (builder.buffer(Type::U32, Access::Read), builder.buffer(Type::U32, Access::Write));
    let (x, one) = (builder.load(input), builder.constant(Type::U32, 1));
    let sum = builder.binary(BinaryOp::Add, x, one);
    builder.store(output, sum);
    let arguments = [from, to].map(|buffer| Argument::Buffer(Arc::clone(buffer), 100)).to_vec();
    let (device, kernel, label) = (FIRST, builder.finish(), "add one".into());
    launch(Launch { device, kernel, width: 100, reduce_block: None, arguments, label, site: None }).unwrap();
}

// one device: a GPU of a driver for tests
#[test]
fn a_launch_waits_for_one_that_another_thread_is_about_to_queue() {
    let test = "streams::a_launch_waits_for_one_that_another_thread_is_about_to_queue";
    // A launch is registered for some time before it is queued.
    if !is_alone(test, "FAKE_CUDA_SLOW=1") {
        return;
    }
    let buffers: [Arc<Buffer>; 4] = with_device(FIRST, || std::array::from_fn(|_| Buffer::alloc(400).unwrap()));
    let barrier = Barrier::new(4);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (buffers, barrier) = (&buffers, &barrier);
            scope.spawn(move || {
                barrier.wait();
                (0..10).for_each(|_| add_one([&buffers[thread], &buffers[(thread + 1) % 4]]));
            });
        }
    });
    jit::sync().unwrap();
    let mut bytes = [0; 4];
    let values = buffers.map(|buffer| buffer.read(0, &mut bytes).map(|()| u32::from_le_bytes(bytes)).unwrap());
    assert!(values.iter().all(|value| (1..=40).contains(value)), "{values:?}");
}

// one device: a GPU of a driver for tests
#[test]
fn streams_of_threads_that_have_ended_are_used_again() {
    let test = "streams::streams_of_threads_that_have_ended_are_used_again";
    if !is_alone(test, "") {
        return;
    }
    let x = numbers(100);
    let before = streams();
    for _ in 0..20 {
        assert_eq!(elsewhere(|| evaluated(&x * 2.0)).to_vec().unwrap(), doubled(100));
        jit::sync().unwrap();
    }
    assert_eq!(streams(), before + 1);
    // One whose thread has left work on it is not given to another one.
    let held = hold();
    let both = [elsewhere(|| evaluated(&x + &x)), elsewhere(|| evaluated(&x * 2.0))];
    assert_eq!(streams(), before + 2);
    drop(held);
    both.into_iter().for_each(|result| assert_eq!(result.to_vec().unwrap(), doubled(100)));
}

// one device: a GPU of a driver for tests
#[test]
fn many_threads_share_streams_in_the_order_of_their_data() {
    /// More than there may be streams of launches.
    const THREADS: usize = 100;
    const MOST_STREAMS: usize = 32;
    if !is_alone("streams::many_threads_share_streams_in_the_order_of_their_data", "") {
        return;
    }
    let (x, before, held) = (numbers(100), streams(), hold());
    let firsts: [OnceLock<Float>; THREADS] = std::array::from_fn(|_| OnceLock::new());
    let barrier = Barrier::new(THREADS + 1);
    let sums: Vec<Float> = std::thread::scope(|scope| {
        let work = |thread: usize| {
            let (x, firsts, barrier) = (&x, &firsts, &barrier);
            move || {
                firsts[thread].set(evaluated(x * thread as f32)).ok().unwrap();
                barrier.wait();
                // Threads far away, which may have the same stream or another one.
                let others = [1, 7, 32, 64].map(|distance| firsts[(thread + distance) % THREADS].get().unwrap());
                let sum = evaluated(others[0] + others[1] + others[2] + others[3]);
                // Until then all threads have their streams.
                barrier.wait();
                evaluated(&sum + firsts[thread].get().unwrap())
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(work(thread))).collect();
        barrier.wait();
        barrier.wait();
        assert_eq!(streams(), before + MOST_STREAMS);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    drop(held);
    for (thread, sum) in sums.iter().enumerate() {
        let factor: usize = [0, 1, 7, 32, 64].map(|distance| (thread + distance) % THREADS).iter().sum();
        let expected: Vec<f32> = (0..100).map(|number| (number * factor) as f32).collect();
        assert_eq!(sum.to_vec().unwrap(), expected, "thread {thread}");
    }
    jit::sync().unwrap();
    assert_eq!(elsewhere(|| evaluated(&x * 2.0)).to_vec().unwrap(), doubled(100));
    assert_eq!(streams(), before + MOST_STREAMS, "the streams of threads that have ended are used again");
}

// one device: a GPU of a driver for tests
#[test]
fn memory_is_freed_when_no_stream_uses_it() {
    let test = "streams::memory_is_freed_when_no_stream_uses_it";
    if !is_alone(test, "") {
        return;
    }
    for _ in 0..5 {
        let (x, held) = (numbers(1000), hold());
        let y = elsewhere(|| evaluated(&x * 2.0));
        let z = evaluated(&y * 0.5);
        drop((x, y));
        jit::trim_memory();
        // Blocks that are in use are not given out.
        let other = elsewhere(|| evaluated(with_device(FIRST, || Float::arange(1000)) + Float::opaque(3.0)));
        drop(held);
        assert_eq!(z.sum().item().unwrap(), 499_500.0);
        assert_eq!(other.sum().item().unwrap(), 502_500.0);
        drop((z, other));
        jit::trim_memory();
    }
}

// one device: a GPU of a driver for tests
#[test]
fn temporary_memory_is_not_given_to_another_stream_before_its_launch_is_done() {
    let test = "streams::temporary_memory_is_not_given_to_another_stream_before_its_launch_is_done";
    if !is_alone(test, "") {
        return;
    }
    let x = numbers(5000);
    let calls = || {
        let local = through_local_memory(&x, 1024);
        let results = [x.sort(), x.prefix_sum(), local.sum(), x.sum()];
        jit::eval(&results).unwrap();
        results
    };
    let held = hold();
    let all = [elsewhere(calls), elsewhere(calls), calls()];
    drop(held);
    for [sorted, sums, local, sum] in all {
        assert_eq!(sorted.get(4321).unwrap(), 4321.0);
        assert_eq!(sums.get(4000).unwrap(), 8_002_000.0);
        assert_eq!((local.item().unwrap(), sum.item().unwrap()), (24_995_000.0, 12_497_500.0));
    }
}

// one device: a GPU of a driver for tests
#[test]
fn waiting_for_all_launches_waits_for_those_of_other_threads() {
    let test = "streams::waiting_for_all_launches_waits_for_those_of_other_threads";
    if !is_alone(test, "") {
        return;
    }
    let is_idle = of_driver::<extern "C" fn() -> bool>(c"fake_cuda_is_idle");
    let x = numbers(100_000);
    let y = elsewhere(|| evaluated((&x * 0.5).sin()));
    assert!(!is_idle(), "it takes an interpreter of PTX some time");
    jit::sync().unwrap();
    assert!(is_idle());
    drop(y);
}

/// How often what depends on threads is tried.
const ROUNDS: usize = 20;

// one device: a GPU of a driver for tests
#[test]
fn a_launch_whose_input_failed_on_another_stream_has_failed() {
    let test = "streams::a_launch_whose_input_failed_on_another_stream_has_failed";
    // The last one of each round.
    let failing: Vec<String> = (0..ROUNDS).map(|round| format!("launch:{}", 22 * round + 21)).collect();
    if !is_alone(test, &format!("FAKE_CUDA_FAIL={}", failing.join(","))) {
        return;
    }
    let x = numbers(100);
    for _ in 0..ROUNDS {
        let held = hold();
        let (_others, y) = elsewhere(|| {
            let others: Vec<Float> = (2..22_u16).map(|factor| evaluated(&x * f32::from(factor))).collect();
            (others, evaluated(&x * 2.5))
        });
        let z = elsewhere(|| evaluated(&y + 1.0));
        drop(held);
        for failed in [&z, &y] {
            let error = failed.to_vec().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Launch);
            assert!(error.to_string().contains("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"), "{error}");
        }
    }
    assert_eq!((&x * 2.0).to_vec().unwrap(), doubled(100));
}

// one device: a GPU of a driver for tests
#[test]
fn a_wait_that_the_driver_refuses_is_made_by_the_host() {
    let test = "streams::a_wait_that_the_driver_refuses_is_made_by_the_host";
    if !is_alone(test, "FAKE_CUDA_FAIL=wait:1+") {
        return;
    }
    let x = numbers(100_000);
    // It takes an interpreter of PTX some time.
    let y = elsewhere(|| evaluated((&x * 0.0).sin() + &x * 2.0));
    let z = elsewhere(|| evaluated(&y + 0.5));
    assert_eq!(evaluated(&z - 0.5).to_vec().unwrap(), doubled(100_000));
}

#[freeze]
fn step(x: &Float, scale: &Float) -> Float {
    let moved = (x * scale).sin();
    let rounded = jit::freeze::host(move || {
        let values: Vec<f32> = moved.to_vec().unwrap().iter().map(|value| (value * 64.0).round() / 64.0).collect();
        with_device(FIRST, || Float::from(values))
    });
    rounded + x
}

#[jit]
pub(super) fn noted(x: &Float) -> Float {
    jit::print!("x = {}", x);
    assert!(x < 1e6, "x is small");
    x * 0.5
}

/// What a thread computes in some steps of different kinds, from values of all threads.
fn program(shared: &Float, seed: u32) -> Vec<f32> {
    let mut x = shared.clone();
    for number in 0..12 {
        x = match (seed * 7 + number * 5) % 6 {
            0 => (&x * 0.5 + shared).cos(),
            1 => step(&x, shared),
            2 => x.sort() + x.sum() * 0.001,
            3 => x.prefix_sum() * 0.01,
            4 => noted(&x),
            _ => {
                let mut changed = x.clone();
                let index = with_device(x.device(), || UInt::arange(50) * 3);
                put(&mut changed, &index, &with_device(x.device(), || Float::opaque(0.25)));
                changed + &x
            }
        };
        jit::eval(&x).unwrap();
    }
    x.to_vec().unwrap()
}

// one device: a GPU of a driver for tests
#[test]
fn programs_on_several_threads_compute_what_they_do_alone() {
    let test = "streams::programs_on_several_threads_compute_what_they_do_alone";
    if !is_alone(test, "FAKE_CUDA_SEED=11") {
        return;
    }
    let values: Vec<f32> = (0..200).map(|number| (number as f32).sin()).collect();
    let there = floats(FIRST, &values);
    let expected: Vec<Vec<f32>> = (0..4).map(|seed| program(&there, seed)).collect();
    let (barrier, turn) = (Barrier::new(4), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let (expected, there, barrier, turn) = (&expected, &there, &barrier, &turn);
            scope.spawn(move || {
                barrier.wait();
                assert_eq!(program(there, seed as u32), expected[seed]);
                turn.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(turn.into_inner(), 4);
    jit::sync().unwrap();
}

// several devices: GPUs of a driver for tests
#[test]
fn values_go_from_thread_to_thread_and_from_device_to_device() {
    let test = "streams::values_go_from_thread_to_thread_and_from_device_to_device";
    if !is_alone(test, "FAKE_CUDA_SEED=3") {
        return;
    }
    let mut x = Arc::new(numbers(500));
    for round in 0..6 {
        let device = if round % 2 == 0 { SECOND } else { FIRST };
        let before = Arc::clone(&x);
        x = elsewhere(move || Arc::new(evaluated(evaluated(&*before + 1.0).to(device).unwrap() * 2.0)));
    }
    let expected: Vec<f32> = (0..500).map(|number| (number as f32) * 64.0 + 126.0).collect();
    assert_eq!(x.to_vec().unwrap(), expected);
}
